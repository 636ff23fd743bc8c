package com.example.orders;

import org.apache.kafka.streams.kstream.ValueTransformer;
import org.apache.kafka.streams.processor.ProcessorContext;

public class Audit implements ValueTransformer<String, String> {
    private ProcessorContext context;

    @Override
    public void init(ProcessorContext context) {
        this.context = context;
    }

    @Override
    public String transform(String order) {
        return order + "@" + context.timestamp();
    }

    @Override
    public void close() {
    }
}
