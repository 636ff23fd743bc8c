package com.example.orders;

import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;

public class Audit extends ContextualFixedKeyProcessor<String, String, String> {
    @Override
    public void process(FixedKeyRecord<String, String> order) {
        context().forward(order.withValue(order.value() + "@" + order.timestamp()));
    }
}
