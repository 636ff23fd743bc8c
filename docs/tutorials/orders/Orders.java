package com.example;

import java.io.FileInputStream;
import java.io.IOException;
import java.util.Properties;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Materialized;

/** Counts the orders of each customer: the example of the README. */
public class Orders {
    static Topology topology() {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("orders").through("checked-orders").groupByKey().count(Materialized.as("orders-by-customer"));
        return builder.build();
    }

    public static void main(String[] arguments) throws IOException {
        Properties settings = new Properties();
        try (FileInputStream file = new FileInputStream(arguments[0])) {
            settings.load(file);
        }
        System.out.print(topology().describe());
        new KafkaStreams(topology(), settings).start();
    }
}
