package com.example.orders;

import java.util.Map;

import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.Options;

public class Stores implements RocksDBConfigSetter {
    @Override
    public void setConfig(String store, Options options, Map<String, Object> configuration) {
        options.setMaxWriteBufferNumber(2);
    }

    @Override
    public void close(String store, Options options) {
    }
}
