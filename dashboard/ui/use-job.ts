import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobInfo } from '../api.ts'
import { Failure, get, post, whenThereIsRoom } from './client.ts'
import { asFailure } from './resource.ts'

const LOOK_MS = 700

export interface Work {
  readonly job: JobInfo | undefined
  readonly failure: Failure | undefined
  /** From the request to the end of the job. */
  readonly isRunning: boolean
  /** Starts a job, and follows it to its end. */
  readonly start: (request: () => Promise<JobInfo>) => void
  /** Ends it; what it has done until then is its result. */
  readonly stop: () => void
}

/** Follows one job of the dashboard's process. `onEnd` gets it when it has finished or failed. */
export function useJob(onEnd?: (job: JobInfo) => void): Work {
  const [job, setJob] = useState<JobInfo>()
  const [failure, setFailure] = useState<Failure>()
  const [isRunning, setRunning] = useState(false)
  const end = useRef(new AbortController())
  useEffect(() => () => end.current.abort(), [])

  const follow = async (request: () => Promise<JobInfo>, { signal }: AbortController): Promise<void> => {
    setRunning(true)
    setFailure(undefined)
    try {
      let info = await whenThereIsRoom(request, signal)
      while (!signal.aborted) {
        setJob(info)
        if (info.state !== 'running') break
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
        info = await next(info)
      }
      if (signal.aborted) return
      if (info.error !== undefined) setFailure(new Failure(info.error.status, info.error))
      onEnd?.(info)
    } catch (error) {
      if (!signal.aborted) setFailure(asFailure(error))
    }
    if (!signal.aborted) setRunning(false)
  }
  const stop = async (): Promise<void> => {
    try {
      if (job !== undefined) await post('api/job/stop', { id: job.id })
    } catch (error) {
      setFailure(asFailure(error))
    }
  }
  return { job, failure, isRunning, start: (request) => void follow(request, end.current), stop: () => void stop() }
}

/** A look that is not answered does not end the job. */
async function next(info: JobInfo): Promise<JobInfo> {
  try {
    return await get('api/job', { id: info.id })
  } catch (error) {
    const failure = asFailure(error)
    if (failure.status === 0 || failure.status >= 429) return info
    throw failure
  }
}
