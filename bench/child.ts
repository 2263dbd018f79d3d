// One run of one contender, in this process. The only argument is an `Order` in JSON.
import { loadSuite } from './catalogue.ts'
import type { Order } from './contender-process.ts'

const order = JSON.parse(process.argv[2] ?? '') as Order
const suite = await loadSuite(order.suite)
const scenario = suite?.scenarios.find(({ name }) => name === order.scenario)
const contender = scenario?.contenders.find(({ name }) => name === order.contender)
if (contender === undefined) throw new Error(`no such contender: ${order.suite}, ${order.scenario}, ${order.contender}`)
const measurement = await contender.run(order.job)
// Clients of servers are still open, and stopping a consumer of kafkajs takes care: the result is known, so end.
process.stdout.write(`${JSON.stringify(measurement)}\n`, () => process.exit(0))
