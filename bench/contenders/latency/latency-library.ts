import type { Observer, ObserverEvent } from 'consume-once'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import type { Broker, LoadBroker } from '../library/broker.ts'
import { commonSettings, type Settings } from '../library/consume-once.ts'
import type { Delays } from './delays.ts'
import { paced, type LoadLine } from './pace.ts'

type TimedSettings = Required<Pick<Settings, 'name' | 'id' | 'decode'>> & { readonly observe: Observer }

/** Parts of a consumer of the library on some store: a broker, a tally, and settings that measure times. */
export interface Timed {
  readonly job: Job
  readonly broker: Broker
  readonly tally: Tally
  readonly settings: TimedSettings
}

/** The library: from the look at the ID, which is the first thing that it does with a message, to the end of its delivery. */
export function pacedLibrary(
  line: LoadLine,
  perSecond: number,
  load: LoadBroker,
  consume: (timed: Timed) => Promise<Measurement>,
): (job: Job) => Promise<Measurement> {
  return paced(line, perSecond, async (job, delays) => {
    const broker = await load()
    const tally = new Tally(job)
    return consume({ job, broker, tally, settings: timedSettings(broker, tally, delays) })
  })
}

function timedSettings(broker: Broker, tally: Tally, delays: Delays): TimedSettings {
  const common = commonSettings(broker, tally)
  return {
    ...common,
    id: (message) => {
      tally.arrived()
      const id = String(broker.idOf(message))
      delays.arrived(id)
      return id
    },
    observe: (event: ObserverEvent) => {
      if (event.type === 'delivery' && event.outcome === 'handled') delays.marked(String(broker.idOf(event.message)))
      common.observe(event)
    },
  }
}
