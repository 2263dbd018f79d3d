import type { Ending, SettingAside } from '../ending.ts'
import type { ClaimedTask } from '../runs/executor.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { ClaimStep, GivenBack, Granted } from '../store/claim-step.ts'
import type { Task } from '../task.ts'

/** The result of a claim in a transaction: tasks that were granted, and tasks to claim again. */
export interface Followed {
  readonly granted: readonly RunItem[]
  /** Granted, to be marked without a run. */
  readonly skipped: readonly Granted[]
  /** Some of their keys were granted. */
  readonly givenBack: readonly GivenBack[]
  readonly again: readonly Task[]
  readonly mustStartOver: boolean
}

interface FollowHooks {
  readonly companyOf: (task: Task) => number
  /** It may run only beside nothing, and this transaction does not. */
  readonly needsQuiet: (task: Task) => boolean
  readonly end: (task: Task, ending: Ending) => void
  readonly setAside: (item: ClaimedTask, as: 'given-up' | 'parked', why: SettingAside) => void
}

/**
 * Ends the tasks that were not granted. If a task must be claimed again, tasks behind it in its lane must not run
 * before it. A task to be parked cannot share a transaction with others. A granted task may turn out to have more
 * attempts than its batch size allows. In these cases nothing begins, and all tasks go back in order.
 */
export function followClaim(tasks: readonly Task[], steps: readonly ClaimStep[], hooks: FollowHooks): Followed {
  const granted: RunItem[] = []
  const skipped: Granted[] = []
  const givenBack: GivenBack[] = []
  const again: Task[] = []
  const waitingLanes = new Set<Task['lane']>()
  let mustStartOver = false
  let index = 0
  for (const task of tasks) {
    const step = steps[index++]
    switch (step?.next) {
      case undefined:
        break
      case 'handle':
      case 'reconcile': {
        const attempts = step.claim.attempt - 1
        granted.push(step)
        if (attempts > task.history.attempts) {
          task.tried(attempts, false)
          mustStartOver ||= tasks.length > hooks.companyOf(task) || hooks.needsQuiet(task)
        }
        mustStartOver ||= waitingLanes.size > 0 && task.lane !== undefined && waitingLanes.has(task.lane)
        break
      }
      case 'skip':
        skipped.push(step)
        break
      case 'give-back':
        // The others of its transaction cannot commit without its rows.
        givenBack.push(step)
        mustStartOver = true
        break
      case 'set-aside':
        if (tasks.length > 1) {
          task.limitCompany(1)
          granted.push({ task, claim: step.claim, others: step.others, payload: undefined, doubt: false })
          mustStartOver = true
        } else hooks.setAside({ task, claim: step.claim, others: step.others }, step.as, step.why)
        break
      case 'claim-alone':
        task.tried(step.attempts ?? 1, false)
        again.push(task)
        waitingLanes.add(task.lane) // mutant: suspect-overtakes-its-lane
        break
      case 'end':
        if (step.ending.end === 'wait') {
          waitingLanes.add(task.lane)
          // The owner that is busy with it may count more attempts. A new claim does not hold up others until the
          // message is free.
          task.tried(0, false)
          // The lock timeout does not say which row was held, so every key of a batch answers `busy`. Alone, each
          // finds out for itself.
          if (tasks.length > 1) {
            task.limitCompany(1)
            again.push(task)
            break
          }
        }
        hooks.end(task, step.ending)
        break
    }
  }
  return { granted, skipped, givenBack, again, mustStartOver }
}
