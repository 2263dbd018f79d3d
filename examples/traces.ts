// A message from its producer to its effect, as spans of OpenTelemetry: a run, and a duplicate that links to it.
import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
// #region readme
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { defineConsumer, messageId } from 'consume-once'
import { otelTracing } from 'consume-once/otel'

// #endregion
const sent: unknown[] = []
let ended = 0
let tellAll = (): void => {}
const all = new Promise<void>((resolve) => (tellAll = resolve))
subscribe('consume_once:delivery', () => {
  if (++ended === 2) tellAll()
})
const store = memoryStore()
// #region readme
// In your application: an OTLP exporter in a batch processor, which @opentelemetry/sdk-node sets up.
const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store,
  handle: ({ payload }) => sent.push(payload),
  trace: otelTracing(),
})
// #endregion

const broker = new MemoryBroker({ partitions: 1 })
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
for (let time = 1; time <= 2; time++) {
  broker.publish('sms', { value: Buffer.from('{"text":"hi"}'), headers: { 'message-id': 'n1', traceparent } })
}
await all
await running.stop()

const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'process sms')
assert.equal(sent.length, 1)
assert.equal(spans.length, 2)
const [run, other] = spans
assert.equal(run?.attributes['consume_once.outcome'], 'handled')
assert.equal(run.links[0]?.context.spanId, 'b7ad6b7169203331')
assert.ok(other?.links.some(({ context }) => context.spanId === run.spanContext().spanId))
console.log(`process sms: handled, then ${String(other?.attributes['consume_once.outcome'])} with a link to the first`)
