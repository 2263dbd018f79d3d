import type { JobInfo, LiveAnswer, SessionInfo } from '../../api.ts'
import { HttpError } from '../http-error.ts'
import type { Asked, Services } from '../services.ts'
import { version } from '../version.ts'

const COLOR = '#64748b'

export function session(services: Services, { principal: { by, readOnly } }: Asked): SessionInfo {
  const { environment } = services.options
  return {
    version: version(),
    now: services.clock.now(),
    by,
    readOnly,
    csrfToken: services.csrfToken(by),
    environment: environment === undefined ? undefined : { name: environment.name, color: environment.color ?? COLOR },
    hasLive: services.live.isThere,
    consumers: services.consumers.all.map((shown) => shown.info(readOnly)),
  }
}

export async function live(services: Services): Promise<LiveAnswer> {
  return { now: services.clock.now(), instances: await services.live.all() }
}

export function jobs(services: Services): { readonly jobs: readonly JobInfo[] } {
  return { jobs: services.jobs.list() }
}

export function job(services: Services, { params }: Asked): JobInfo {
  return services.jobs.get(params.text('id'))
}

export async function stopJob(services: Services, { params, principal }: Asked): Promise<JobInfo> {
  const asked = services.jobs.get(params.text('id'))
  const { kind, id } = asked
  if (principal.readOnly && (kind === 'replay' || kind === 'redrive')) {
    throw new HttpError(405, 'HTTP_READ_ONLY', 'the dashboard is read-only: nothing can be changed here')
  }
  if (asked.kind === 'replay' && asked.state === 'running' && asked.progress !== undefined) {
    const { admin } = services.consumers.all.find((one) => one.id === asked.consumer) ?? {}
    const note = { what: 'pause', about: `replay ${asked.progress.id}`, by: principal.by.slice(0, 200) }
    await services.asking(async () => admin?.note({ ...note, reason: 'its job was stopped' }))
  }
  return services.jobs.stop(id)
}
