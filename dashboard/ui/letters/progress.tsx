import type { JSX } from 'preact'
import { count } from '../../format.ts'
import type { Work } from '../use-job.ts'

export function LookProgress({ work }: { work: Work }): JSX.Element {
  const progress = work.job?.kind === 'dead-letters' || work.job?.kind === 'redrive' ? work.job.progress : undefined
  return (
    <span role="status">
      {progress === undefined ? 'Reading …' : `${count(progress.looked)} of ${count(progress.of)} read`}
    </span>
  )
}
