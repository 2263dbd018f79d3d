import type { PauseAnswer } from '../../api.ts'
import { HttpError } from '../http-error.ts'
import type { Asked, Services } from '../services.ts'
import { reasonIn } from './decisions.ts'

export function pauseConsumer(services: Services, asked: Asked): PauseAnswer {
  return each(services, asked, 'pause')
}

export function resumeConsumer(services: Services, asked: Asked): PauseAnswer {
  return each(services, asked, 'resume')
}

/** Only in this process: the health servers of others change nothing. */
function each(services: Services, { params, principal }: Asked, what: 'pause' | 'resume'): PauseAnswer {
  const { id, entry } = services.consumers.of(params)
  const reason = reasonIn(params)
  const runs = services.options.live?.controlsOf?.(entry.consumer.name) ?? []
  if (runs.length === 0) {
    throw new HttpError(409, 'HTTP_NOT_HERE', `${id} does not run in this process, or has no intake to ${what}`)
  }
  for (const run of runs) run[what]({ by: principal.by.slice(0, 200), reason })
  return { runs: runs.length }
}
