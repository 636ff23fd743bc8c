package com.example.orders;

import java.util.Map;

import brave.kafka.clients.KafkaTracing;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.config.StreamsBuilderFactoryBeanConfigurer;

/** Traces the clients of Streams, as Brave's guide shows it. */
@Configuration
public class Tracing implements KafkaClientSupplier {
    private final KafkaTracing tracing = KafkaTracing.create(brave.Tracing.newBuilder().build());

    @Bean
    public StreamsBuilderFactoryBeanConfigurer traced() {
        return factory -> factory.setClientSupplier(this);
    }

    @Override
    public Admin getAdmin(Map<String, Object> configuration) {
        return Admin.create(configuration);
    }

    @Override
    public Producer<byte[], byte[]> getProducer(Map<String, Object> configuration) {
        return tracing.producer(new KafkaProducer<>(configuration, new ByteArraySerializer(), new ByteArraySerializer()));
    }

    @Override
    public Consumer<byte[], byte[]> getConsumer(Map<String, Object> configuration) {
        return tracing.consumer(
            new KafkaConsumer<>(configuration, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
    }

    @Override
    public Consumer<byte[], byte[]> getRestoreConsumer(Map<String, Object> configuration) {
        return new KafkaConsumer<>(configuration, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @Override
    public Consumer<byte[], byte[]> getGlobalConsumer(Map<String, Object> configuration) {
        return new KafkaConsumer<>(configuration, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
