package com.example.orders;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.kafka.annotation.EnableKafkaStreams;

@SpringBootApplication
@EnableKafkaStreams
public class OrdersApplication {
    public static void main(String[] arguments) {
        SpringApplication.run(OrdersApplication.class, arguments);
    }
}
