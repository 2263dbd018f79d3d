// What was deployed before the alert. Prints the port of its health at once, and ends at SIGTERM.

import { register } from 'prom-client'
import { serveHealth } from '../../adapters/health/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { prometheus } from '../../adapters/prometheus/index.ts'
import { consumerOf, deployed, kafkaOf, optionsOf } from './consumer.ts'

const settings = deployed()
const { consumer, pool } = consumerOf(settings, [prometheus({ registry: register })])
const running = runKafka(kafkaOf(settings), consumer, optionsOf(settings))
if (settings.isPaused === true)
  void running.ready().then(() => running.pause({ by: 'kim', reason: 'the provider is being mended, OPS-812' }))
process.once('SIGTERM', () => void stop())
const health = await serveHealth(running, {
  port: Number(process.env['HEALTH_PORT']),
  host: '127.0.0.1',
  metrics: register,
})
console.log(String(health.port))

async function stop(): Promise<void> {
  await running.stop({ deadlineMs: 5_000 })
  await health.close()
  await pool.end()
}
