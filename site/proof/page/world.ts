import type { Intervention } from '../../../testing/sim/interventions.ts'
import { button, chip, chips, colourOf, element, make } from './dom.ts'
import { subjectOf } from './link.ts'
import type { Step, World, WorkerView } from './scene.ts'

export interface WorldActions {
  /** Adds a fault at the step that is shown. */
  readonly act: (kind: Intervention['kind'], on?: string) => void
}

/** What does not change while a person steps through a schedule. */
export interface Stage {
  readonly messages: readonly string[]
  readonly broker: 'log' | 'queue'
  /** The schedule is over: there is nothing to disturb. */
  readonly isOver: boolean
}

const WORKERS = 2

export function drawWorld(step: Step, stage: Stage, actions: WorldActions): void {
  const { world } = step
  element('in-producer').replaceChildren(
    ...stage.messages.map((message) => messageCard(message, world, stage, actions)),
  )
  element('in-broker').replaceChildren(
    chips(counted(world.broker).map(([message, times]) => chip(message, times > 1 ? `×${times}` : ''))),
  )
  const rebalance = element('rebalance') as HTMLButtonElement
  rebalance.disabled = stage.isOver || stage.broker === 'queue'
  element('no-rebalance').hidden = stage.broker === 'log'
  element('workers').replaceChildren(
    ...shownOf(world.workers).map((worker) => workerCard(worker, step, stage, actions)),
  )
  element('in-store').replaceChildren(chips(world.store.map(([message, state]) => chip(message, state))))
  element('in-effects').replaceChildren(
    chips(world.effects.map(([message, times]) => chip(message, times > 1 ? `×${times}` : 'once', times > 1))),
  )
  for (const [id, who] of [
    ['producer', 'producer'],
    ['broker', 'broker'],
    ['store', 'store'],
    ['outside', 'provider'],
  ] as const) {
    element(id).classList.toggle('acts', step.who === who)
  }
  for (const marked of document.querySelectorAll('#world .chip')) {
    marked.classList.toggle('concerned', step.messages.includes(marked.getAttribute('data-message') ?? ''))
  }
}

/** A message of the producer: what was sent, and a button that sends it again. */
function messageCard(message: string, { sent }: World, { isOver }: Stage, { act }: WorldActions): HTMLElement {
  const times = sent.get(message) ?? 0
  const card = make('li', `message ${colourOf(message)}${times === 0 ? ' unsent' : ''}`)
  const again = button('small-button', 'Send again', () => act('repeat', subjectOf(message)))
  again.setAttribute('aria-label', `Send again: ${message}`)
  ;(again as HTMLButtonElement).disabled = isOver || times === 0
  card.append(
    make('b', '', message),
    make('span', 'note', times === 0 ? 'not yet' : times === 1 ? 'sent' : `sent ×${times}`),
    again,
  )
  return card
}

function workerCard(worker: WorkerView, step: Step, { isOver }: Stage, { act }: WorldActions): HTMLElement {
  const { name, state, running } = worker
  const isActing = step.who === name || (step.who !== 'producer' && step.worker === name)
  const card = make('section', `card worker ${state}${isActing ? ' acts' : ''}`)
  card.dataset['worker'] = name
  const title = make('h3', '', `Worker ${name}`)
  if (state !== 'up') title.append(make('span', `state ${state}`, state))
  const buttons = make('div', 'buttons')
  for (const [kind, text, meaning] of ACTS) {
    const press = button('small-button', text, () => act(kind, name))
    press.setAttribute('aria-label', `${text} worker ${name}`)
    press.title = meaning
    ;(press as HTMLButtonElement).disabled = isOver || state === 'dead'
    buttons.append(press)
  }
  card.append(title, make('p', 'small', 'handlers that run'), chips(running.map((message) => chip(message))), buttons)
  return card
}

const ACTS: readonly (readonly [Intervention['kind'], string, string])[] = [
  ['kill', 'Kill', 'The process ends at once. What it did not write down is forgotten.'],
  ['freeze', 'Freeze', 'As in a long garbage collection: for longer than its lease, and its place in the group.'],
  ['cut', 'Cut off', 'The broker closes its connection.'],
]

function counted(messages: readonly string[]): readonly (readonly [message: string, times: number])[] {
  const times = new Map<string, number>()
  for (const message of messages) times.set(message, (times.get(message) ?? 0) + 1)
  return [...times]
}

/** All that are up, and the last dead ones if they are fewer than two. */
function shownOf(workers: readonly WorkerView[]): readonly WorkerView[] {
  const up = workers.filter(({ state }) => state !== 'dead')
  const missing = Math.max(0, WORKERS - up.length)
  const dead = missing === 0 ? [] : workers.filter(({ state }) => state === 'dead').slice(-missing)
  return workers.filter((worker) => up.includes(worker) || dead.includes(worker))
}
