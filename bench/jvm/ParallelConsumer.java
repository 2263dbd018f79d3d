// java -cp <classes>:<jars> ParallelConsumer <brokers> <topic> <group> <handler ms> <deliveries> <threads> <ID header>
//
// Confluent's Parallel Consumer over a whole topic, once: its defaults, but for the number of threads. Ends when every delivery was handled and
// committed, with one line of JSON: {"messages", "tookMs", "cpuMs", "handled"}, the last being how often the handler ran for each of the
// IDs 0, 1, 2, ... Time and CPU are of the whole process, from the first message to the end of the last: what the JVM compiles meanwhile
// is part of it. Ends with its stdin too, so that it does not outlive the process that started it.

import com.sun.management.OperatingSystemMXBean;
import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

final class ParallelConsumer {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final int deliveries;
    private final int handlerMs;
    private final String idHeader;
    /** There are no more IDs than deliveries. */
    private final AtomicIntegerArray handled;
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger ended = new AtomicInteger();
    private final CountDownLatch complete = new CountDownLatch(1);
    private volatile RuntimeException failure;
    private volatile long startedAt;
    private volatile long cpuAtStart;
    private volatile long endedAt;
    private volatile long cpuAtEnd;

    private ParallelConsumer(int deliveries, int handlerMs, String idHeader) {
        this.deliveries = deliveries;
        this.handlerMs = handlerMs;
        this.idHeader = idHeader;
        this.handled = new AtomicIntegerArray(deliveries);
    }

    public static void main(String[] args) {
        var given = List.of(args).iterator();
        String brokers = given.next();
        String topic = given.next();
        String group = given.next();
        int handlerMs = Integer.parseInt(given.next());
        int deliveries = Integer.parseInt(given.next());
        int threads = Integer.parseInt(given.next());
        String idHeader = given.next();
        endWithStdin();
        try {
            new ParallelConsumer(deliveries, handlerMs, idHeader).run(brokers, topic, group, threads);
        } catch (Throwable failure) {
            failure.printStackTrace();
            System.exit(1); // Threads of the library would go on.
        }
        System.exit(0);
    }

    private void run(String brokers, String topic, String group, int threads) throws InterruptedException {
        var options = ParallelConsumerOptions.<String, byte[]>builder()
                .consumer(consumer(brokers, group))
                .ordering(ProcessingOrder.KEY)
                .commitMode(CommitMode.PERIODIC_CONSUMER_ASYNCHRONOUS)
                .maxConcurrency(threads)
                .build();
        var processor = ParallelStreamProcessor.createEosStreamProcessor(options);
        processor.subscribe(List.of(topic));
        processor.poll(context -> handleOrFail(context.getSingleConsumerRecord()));
        while (!complete.await(100, TimeUnit.MILLISECONDS)) {
            if (processor.isClosedOrFailed()) throw new IllegalStateException("it ended before all was handled");
        }
        if (failure != null) throw failure;
        processor.closeDrainFirst(); // Commits.
        System.out.println(measurement());
    }

    /** Keys are strings, of which two that say the same are equal: of arrays of bytes that is not so. */
    private static KafkaConsumer<String, byte[]> consumer(String brokers, String group) {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", brokers,
                "group.id", group,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", "false");
        return new KafkaConsumer<>(config, new StringDeserializer(), new ByteArrayDeserializer());
    }

    /** The library would try again and again. */
    private void handleOrFail(ConsumerRecord<String, byte[]> record) {
        try {
            handle(record);
        } catch (RuntimeException wrong) {
            failure = wrong;
            complete.countDown();
            throw wrong;
        }
    }

    private void handle(ConsumerRecord<String, byte[]> record) {
        if (begun.getAndIncrement() == 0) {
            startedAt = System.nanoTime();
            cpuAtStart = SYSTEM.getProcessCpuTime();
        }
        byte[] id = record.headers().lastHeader(idHeader).value();
        handled.incrementAndGet(Integer.parseInt(new String(id, StandardCharsets.US_ASCII)));
        if (handlerMs > 0) sleep(handlerMs);
        if (ended.incrementAndGet() == deliveries) {
            endedAt = System.nanoTime();
            cpuAtEnd = SYSTEM.getProcessCpuTime();
            complete.countDown();
        }
    }

    private String measurement() {
        double tookMs = (endedAt - startedAt) / 1e6;
        double cpuMs = (cpuAtEnd - cpuAtStart) / 1e6;
        String times = IntStream.range(0, deliveries)
                .mapToObj(id -> Integer.toString(handled.get(id)))
                .collect(Collectors.joining(","));
        return "{\"messages\":" + ended.get() + ",\"tookMs\":" + tookMs + ",\"cpuMs\":" + cpuMs
                + ",\"handled\":[" + times + "]}";
    }

    private static void sleep(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException("a handler was interrupted", interrupted);
        }
    }

    private static void endWithStdin() {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (IOException gone) {
                // As good as its end.
            }
            Runtime.getRuntime().halt(1);
        });
        watch.setDaemon(true);
        watch.start();
    }
}
