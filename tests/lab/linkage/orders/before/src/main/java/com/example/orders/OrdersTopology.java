package com.example.orders;

import java.time.Duration;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
public class OrdersTopology {
    @Bean
    public KStream<String, String> orders(StreamsBuilder builder) {
        KStream<String, String> orders =
            builder.stream("orders", Consumed.with(Serdes.String(), Serdes.String()));
        KStream<String, String>[] parts = orders.branch((key, order) -> order.startsWith("vip"), (key, order) -> true);
        parts[0].transformValues(Audit::new).to("vip-orders", Produced.with(Serdes.String(), Serdes.String()));
        parts[1].selectKey((key, order) -> order.substring(0, 1))
            .through("orders-by-letter", Produced.with(Serdes.String(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .windowedBy(TimeWindows.of(Duration.ofMinutes(5)).grace(Duration.ofMinutes(1)))
            .count()
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
            .toStream((window, count) -> window.key())
            .mapValues(String::valueOf)
            .to("orders-per-letter", Produced.with(Serdes.String(), Serdes.String()));
        return orders;
    }
}
