import type { PauseAnswer } from '../../api.ts'
import type { Shown } from '../consumers.ts'
import { HttpError } from '../http-error.ts'
import { HERE } from '../live-sources.ts'
import { noted } from '../noted.ts'
import type { Asked, Services } from '../services.ts'
import { reasonIn } from './decisions.ts'

type What = 'pause' | 'resume'

export function pauseConsumer(services: Services, asked: Asked): Promise<PauseAnswer> {
  return each(services, asked, 'pause')
}

export function resumeConsumer(services: Services, asked: Asked): Promise<PauseAnswer> {
  return each(services, asked, 'resume')
}

/** Only in this process: the health servers of others change nothing. */
async function each(services: Services, { params, principal }: Asked, what: What): Promise<PauseAnswer> {
  const shown = services.consumers.of(params)
  const reason = reasonIn(params)
  const runs = services.options.live?.controlsOf?.(shown.entry.consumer.name) ?? []
  if (runs.length === 0) throw new HttpError(409, 'HTTP_NOT_HERE', await whyNotHere(services, shown, what))
  const why = { by: principal.by.slice(0, 200), reason }
  // First: a store that does not answer may be the reason for a pause.
  for (const run of runs) run[what](why)
  return { runs: runs.length, unnoted: await noted(services, shown, { what, about: 'consumer', ...why }) }
}

async function whyNotHere(services: Services, { id, entry }: Shown, what: What): Promise<string> {
  const { name } = entry.consumer
  const places = await services.live.processesOf(name, entry.subscription.group)
  if (places.includes(HERE)) return `${id} runs in this process, but has no intake to ${what}`
  const where =
    places.length === 0
      ? 'no process that this dashboard asks reports it: name their health servers with --instance to see where it runs'
      : `it runs in ${places.join(', ')}`
  const title = what === 'pause' ? 'Pause' : 'Resume'
  return `${id} does not run in this process; ${where}. ${title} it there: on a dashboard that its process mounts, or by running.${what}() in its code`
}
