// A second process with the same message: it takes over as soon as the store allows it, and reports its outcome.

import { runInline } from '../../src/index.ts'
import { leaseAt, MESSAGE, ownerOf, type LeasePlace } from './lease-at.ts'

const [place, group] = JSON.parse(process.argv[2] ?? '') as [LeasePlace, string]
const { store, close } = await leaseAt(place)
const attempts: number[] = []
const running = runInline(
  ownerOf(store, ({ attempt }) => void attempts.push(attempt)),
  { group },
)
const { outcome } = await running.handle(MESSAGE)
await running.stop()
await close()
process.stdout.write(`${outcome} ${attempts.join()}`)
