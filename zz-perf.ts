const root = process.argv[2]
const { defineConsumer, memoryStore, MemoryBroker, runMemory, messageId } = await import(root + '/src/index.ts')
const N = 200_000
for (const keyed of [false, false, true, true, false]) {
  const broker = new MemoryBroker()
  for (let i = 0; i < N; i++) broker.publish('t', { key: keyed ? Buffer.from('k' + (i % 1000)) : null, value: Buffer.from('{"a":1}'), headers: { id: String(i) } })
  const c = defineConsumer({ name: 'c', store: memoryStore(), id: messageId.header('id'), handle: async () => {} })
  const t = performance.now()
  const r = await runMemory(broker, c, { topic: 't', group: 'g' })
  await broker.drained('t', 'g')
  console.log(root, keyed ? 'keyed' : 'unkeyed', Math.round(N / (performance.now() - t)), 'k/s')
  await r.stop()
}
