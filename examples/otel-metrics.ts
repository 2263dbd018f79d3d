// Metrics for OpenTelemetry: a message that is sent twice counts as one `handled` and one `duplicate`.
import assert from 'node:assert/strict'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider } from '@opentelemetry/sdk-metrics'
import { defineConsumer, messageId, type Consumer } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
// #region readme
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { otelMetricProducer } from 'consume-once/otel'

// #endregion
// In your application: an OTLP exporter, which @opentelemetry/sdk-node sets up.
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const send = (): void => {}
const options = { name: 'sms-sender', id: messageId.header('message-id'), handle: send }

/** Sends one message twice, and returns the exported counts by outcome. */
async function outcomesOf(consumer: Consumer, provider: MeterProvider) {
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, { topic: 'sms', group: 'sms' })
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
  return counts
}

// #region readme
const counts = otelMetricProducer()
const reader = new PeriodicExportingMetricReader({ exporter, metricProducers: [counts] }) // for NodeSDK or MeterProvider
const counted = defineConsumer({ ...options, store: memoryStore(), observe: counts.observe })
// #endregion
const provider = new MeterProvider({ readers: [reader] })
const outcomes = await outcomesOf(counted, provider)
console.log(outcomes) // { handled: 1, duplicate: 1 }
assert.deepEqual(outcomes, { handled: 1, duplicate: 1 })
await provider.shutdown()
