// Metrics for OpenTelemetry: a message that is sent twice counts as one `handled` and one `duplicate`.
import assert from 'node:assert/strict'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once'
// #region readme
import { metrics } from '@opentelemetry/api'
import { defineConsumer, messageId } from 'consume-once'
import { otelMetrics } from 'consume-once/otel'

// #endregion
// In your application: an OTLP exporter, which @opentelemetry/sdk-node sets up.
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
metrics.setGlobalMeterProvider(provider)
const store = memoryStore()
const send = (): void => {}

// #region readme
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store,
  handle: send,
  observe: otelMetrics({ meter: metrics.getMeter('consume-once') }),
})
// #endregion

const broker = new MemoryBroker()
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
for (let time = 0; time < 2; time++) {
  broker.publish('sms', { value: Buffer.from('{}'), headers: { 'message-id': 'sms-1' } })
  await broker.drained('sms', 'sms')
}
await running.stop()
await provider.forceFlush()

const counts: Record<string, unknown> = {}
for (const { scopeMetrics } of exporter.getMetrics()) {
  for (const { descriptor, dataPoints } of scopeMetrics.flatMap((scope) => scope.metrics)) {
    if (descriptor.name !== 'consume_once.deliveries') continue
    for (const { attributes, value } of dataPoints) {
      if (value !== 0) counts[String(attributes['outcome'])] = value
    }
  }
}
console.log(counts) // { handled: 1, duplicate: 1 }
assert.deepEqual(counts, { handled: 1, duplicate: 1 })
await provider.shutdown()
