import type { History } from '../../../testing/index.ts'
import { outcomeOf } from '../engine/outcome.ts'
import { button, colourOf, element, make } from './dom.ts'
import { subjectOf } from './link.ts'
import type { Kind, Step } from './scene.ts'

const LETTERS: Readonly<Record<Kind, string>> = {
  send: 'S',
  deliver: 'D',
  claim: 'C',
  run: 'R',
  effect: 'E',
  mark: 'M',
  aside: 'P',
  settle: 'A',
  fault: '!',
  end: '.',
}

/** One line for each message from its first step to its last, and one for faults, on a common axis of steps. */
export function drawLines(
  steps: readonly Step[],
  messages: readonly string[],
  history: History,
  goTo: (at: number) => void,
): void {
  const grid = element('lines')
  grid.style.setProperty('--steps', String(steps.length))
  const fateOf = fates(history)
  const rows = messages.map((message) => {
    const entries = entriesOf(steps, (step) => step.messages.includes(message))
    const row = lineOf(message, colourOf(message), entries, goTo)
    const [text, look] = fateOf(message)
    const fate = make('span', `fate ${look}`, text)
    fate.style.gridColumnStart = String((entries.at(-1)?.[0] ?? 0) + 3)
    row.append(fate)
    return row
  })
  const faults = entriesOf(steps, ({ kind, isYours }) => kind === 'fault' || isYours)
  grid.replaceChildren(...rows, lineOf('faults', 'faults', faults, goTo))
}

/** How a message ended. */
function fates(history: History): (message: string) => readonly [text: string, look: string] {
  const { lost, doubled, parked, deadLettered } = outcomeOf(history)
  return (message) => {
    const subject = subjectOf(message)
    if (lost.has(subject)) return ['lost', 'bad']
    if (doubled.has(subject)) return ['twice', 'bad']
    if (parked.has(subject)) return ['for a person', 'asks']
    if (deadLettered.has(subject)) return ['given up', 'asks']
    return ['once', 'once']
  }
}

type Entry = readonly [at: number, step: Step]

function entriesOf(steps: readonly Step[], which: (step: Step) => boolean): readonly Entry[] {
  return [...steps.entries()].filter(([, step]) => which(step))
}

function lineOf(name: string, className: string, entries: readonly Entry[], goTo: (at: number) => void): HTMLElement {
  const row = make('li', `line ${className}`)
  row.append(make('b', 'name', name))
  const [first] = entries
  const last = entries.at(-1)
  if (first !== undefined && last !== undefined) {
    const track = make('span', 'track')
    track.style.gridColumn = `${first[0] + 2} / ${last[0] + 3}`
    row.append(track)
  }
  for (const [at, step] of entries) {
    const letter = name === 'faults' ? '!' : LETTERS[step.kind]
    const dot = button(`dot ${step.kind}${step.isBad ? ' bad' : ''}${step.isYours ? ' yours' : ''}`, letter, () =>
      goTo(at),
    )
    dot.style.gridColumn = String(at + 2)
    dot.dataset['step'] = String(at)
    dot.setAttribute('aria-label', `${step.at} ms: ${step.text}`)
    dot.title = step.text
    row.append(dot)
  }
  return row
}

/** Shows which step is shown, and scrolls to it where the lines are wider than the screen. */
export function markStep(at: number): void {
  for (const dot of document.querySelectorAll('#lines [data-step]')) {
    dot.classList.toggle('now', dot.getAttribute('data-step') === String(at))
  }
  const now = document.querySelector<HTMLElement>('#lines .now')
  const frame = element('lines-frame')
  if (now !== null) frame.scrollLeft = now.offsetLeft - frame.clientWidth / 2
}
