import type { EventOf, HistoryEvent } from '../../../testing/index.ts'
import type { Intervention } from '../../../testing/sim/interventions.ts'
import { check, CONTENDERS, judgedOutcome, outcomeOf, playSeed } from '../engine/index.ts'
import type { Contender } from '../engine/contenders.ts'
import type { Played } from '../engine/play.ts'
import { button, element, keepingFocus, make } from './dom.ts'
import { faultText } from './fault-text.ts'
import { drawLines, markStep } from './lines.ts'
import { FIRST, fromLink, linkTo, MOST_FAULTS, shortOf, type Situation } from './link.ts'
import { stepsOf, type Step } from './scene.ts'
import { drawWorld } from './world.ts'

const SEARCHED_SEEDS = 500

const TITLES: Readonly<Record<Contender, readonly [name: string, does: string]>> = {
  raw: ['At least once', 'handle, then ack'],
  'ack-first': ['Ack first', 'ack, then handle'],
  'setnx-first': ['SETNX first', 'set a key, handle, then ack'],
  lease: ['consume-once: lease', 'in doubt, it runs again'],
  'lease-park': ['consume-once: lease with park', 'in doubt, a person decides'],
  inbox: ['consume-once: inbox', 'effect and mark in one commit'],
}

/** Situations to begin with. Each is a link of this page. */
const STARTS: readonly (readonly [title: string, situation: Situation])[] = [
  ['Killed before and after an effect', FIRST],
  [
    'Frozen for longer than a lease',
    { ...FIRST, faults: [{ kind: 'freeze', when: { subject: 'a/m0', point: 'called', nth: 1 } }] },
  ],
  [
    'Sent twice',
    { ...FIRST, faults: [{ kind: 'repeat', on: 'a/m0', when: { subject: 'a/m0', point: 'acked', nth: 1 } }] },
  ],
  [
    'Rebalanced while a handler runs',
    { ...FIRST, faults: [{ kind: 'rebalance', when: { subject: 'a/m0', point: 'started', nth: 1 } }] },
  ],
  ['No fault yet', { ...FIRST, faults: [] }],
]

interface Shown {
  situation: Situation
  plan: Played['plan'] | undefined
  steps: readonly Step[]
  messages: readonly string[]
  /** For each added fault its step; `undefined`: its moment does not come for this consumer. */
  begun: readonly (number | undefined)[]
  playing: number
  search: number
  load: number
}

const shown: Shown = {
  situation: FIRST,
  plan: undefined,
  steps: [],
  messages: [],
  begun: [],
  playing: 0,
  search: 0,
  load: 0,
}

const seedInput = element('seed') as HTMLInputElement
const seedFaults = element('seed-faults') as HTMLInputElement
const slider = element('at') as HTMLInputElement
const playButton = element('play') as HTMLButtonElement
const findButton = element('find') as HTMLButtonElement
const speed = element('speed') as HTMLSelectElement

function playSituation({ seed, isQuiet, faults }: Situation, contender: Contender): Promise<Played> {
  return playSeed(seed, contender, { isQuiet, interventions: faults })
}

/** Plays a situation and shows it, at its step, at the first bad one, or at the step of its last fault. */
async function load(situation: Situation, at: 'step' | 'bad' | 'last fault' = 'step'): Promise<void> {
  stopPlaying()
  const ticket = ++shown.load
  const played = await playSituation(situation, situation.contender)
  if (ticket !== shown.load) return
  show(situation, played, at)
  await compare(ticket)
}

function show(situation: Situation, { plan, history, begun }: Played, at: 'step' | 'bad' | 'last fault'): void {
  const yours = new Set(begun.filter((index) => index !== undefined))
  shown.steps = stepsOf(history, yours)
  const ownSteps = [...shown.steps.entries()].flatMap(([step, { isYours }]) => (isYours ? step : []))
  const inOrder = [...yours].toSorted((one, other) => one - other)
  shown.begun = begun.map((index) => (index === undefined ? undefined : ownSteps[inOrder.indexOf(index)]))
  shown.plan = plan
  shown.messages = Array.from({ length: plan.messages }, (_, number) => `m${number}`)
  shown.situation = situation
  seedInput.value = String(situation.seed)
  seedFaults.checked = !situation.isQuiet
  slider.max = String(shown.steps.length - 1)
  const [name, does] = TITLES[situation.contender]
  element('consumer').textContent = name
  element('does').textContent = does
  drawLines(shown.steps, shown.messages, history, goTo)
  goTo(stepAt(situation, at))
  drawFaults()
}

function stepAt({ step }: Situation, at: 'step' | 'bad' | 'last fault'): number {
  switch (at) {
    case 'step':
      return step
    case 'bad':
      return shown.steps.findIndex(({ isBad }) => isBad)
    case 'last fault':
      return shown.begun.at(-1) ?? step
  }
}

function goTo(at: number): void {
  const step = Math.max(0, Math.min(at, shown.steps.length - 1))
  shown.situation = { ...shown.situation, step }
  draw()
}

function draw(): void {
  const { situation, steps, messages, plan } = shown
  const step = steps[situation.step]
  if (step === undefined || plan === undefined) return
  slider.value = String(situation.step)
  slider.setAttribute('aria-valuetext', step.text)
  element('time').textContent = `Step ${situation.step + 1} of ${steps.length} · ${step.at} ms`
  const text = element('text')
  text.textContent = step.text
  text.className = step.isBad ? 'bad' : step.isYours ? 'yours' : ''
  keepingFocus(element('world'), () =>
    drawWorld(step, { messages, broker: plan.broker, isOver: step.kind === 'end' }, { act }),
  )
  const { effects } = step.world
  const doubled = effects.filter(([, times]) => times > 1).length
  const counts = element('counts')
  counts.textContent = `So far: ${effects.length} of ${messages.length} messages have an effect, ${doubled} of them twice.`
  counts.className = `small${doubled > 0 ? ' bad' : ''}`
  markStep(situation.step)
  history.replaceState(null, '', linkTo(situation))
}

/** Adds a fault at the step that is shown. Everything before it stays as it is. */
function act(kind: Intervention['kind'], on?: string): void {
  const { situation, steps } = shown
  const step = steps[situation.step]
  if (step === undefined) return
  if (situation.faults.length >= MOST_FAULTS) {
    say(`A link holds ${MOST_FAULTS} faults. Take one back to add another.`)
    return
  }
  // Without a name the fault meets the worker of this event, with every consumer.
  const isOfEvent = on === step.worker && !('atMs' in step.when)
  const fault: Intervention = { kind, when: step.when, ...(on === undefined || isOfEvent ? {} : { on }) }
  void run(load({ ...situation, faults: [...situation.faults, fault] }, 'last fault'))
}

function takeBack(fault: Intervention): void {
  const { situation } = shown
  void run(load({ ...situation, faults: situation.faults.filter((one) => one !== fault) }))
}

function drawFaults(): void {
  const { faults } = shown.situation
  const list = element('faults')
  keepingFocus(list, () =>
    list.replaceChildren(
      ...faults.map((fault, index) => {
        const item = make('li', 'added')
        const at = shown.begun[index]
        const text = faultText(fault)
        item.append(at === undefined ? make('span', '', text) : button('link', text, () => goTo(at)))
        if (at === undefined) item.append(make('span', 'note', 'does not happen with this consumer'))
        const back = button('small-button', 'Take back', () => takeBack(fault))
        back.setAttribute('aria-label', `Take back: ${text}`)
        item.append(back)
        return item
      }),
    ),
  )
  if (faults.length === 0)
    list.append(make('li', 'none', 'None yet. Choose a step, then press a button in the picture.'))
}

/** The six consumers under the same faults, one after the other, each in turns of the event loop. The checker judges. */
async function compare(ticket: number): Promise<void> {
  const { situation } = shown
  const rows: HTMLElement[] = []
  for (const contender of CONTENDERS) {
    const { history, rules } = await playSituation(situation, contender)
    if (ticket !== shown.load) return
    const { lost, doubled } = judgedOutcome(check(history, rules))
    const { parked, deadLettered } = outcomeOf(history)
    const told = new Set(history.events.flatMap((event) => (isDoubt(event) ? event.subject : [])))
    const isReported = [...doubled].every((subject) => told.has(subject))
    rows.push(
      rowOf(contender, [
        { subjects: lost, isFault: true },
        { subjects: doubled, isFault: true, note: isReported ? ', reported' : '' },
        { subjects: new Set([...parked, ...deadLettered]), isFault: false },
      ]),
    )
  }
  keepingFocus(element('compared'), () => element('compared').replaceChildren(...rows))
}

interface Count {
  readonly subjects: ReadonlySet<string>
  readonly isFault: boolean
  readonly note?: string
}

function isDoubt(event: HistoryEvent): event is EventOf<'tell'> {
  return event.f === 'tell' && event.what === 'in-doubt'
}

function rowOf(contender: Contender, counts: readonly Count[]): HTMLElement {
  const isShown = contender === shown.situation.contender
  const row = make('tr', isShown ? 'shown' : '')
  row.dataset['contender'] = contender
  const [name, does] = TITLES[contender]
  const choose = button('link', name, () => void run(load({ ...shown.situation, contender, step: 0 })))
  choose.setAttribute('aria-pressed', String(isShown))
  const head = make('th')
  head.setAttribute('scope', 'row')
  head.append(choose, make('span', 'does', does))
  if (counts.every(({ subjects }) => subjects.size === 0)) head.append(make('span', 'once', '✓ each message once'))
  row.append(head)
  for (const { subjects, isFault, note = '' } of counts) {
    const cell = make('td', subjects.size === 0 ? 'zero' : isFault ? 'bad' : 'asks', String(subjects.size))
    if (subjects.size > 0) cell.append(make('span', 'note', `${namesOf(subjects)}${note}`))
    row.append(cell)
  }
  return row
}

function namesOf(subjects: ReadonlySet<string>): string {
  const names = [...subjects].map(shortOf).toSorted()
  return names.length > 3 ? `${names.slice(0, 2).join(', ')}, …` : names.join(', ')
}

/** Searches the seeds after this one for a message that is lost or has its effect twice, and shows the step. */
async function find(): Promise<void> {
  const search = ++shown.search
  findButton.textContent = 'Stop the search'
  const { contender, seed: from } = shown.situation
  const asked: Situation = { ...shown.situation, step: 0, isQuiet: false, faults: [] }
  for (let seed = from + 1; seed <= from + SEARCHED_SEEDS && search === shown.search; seed++) {
    const { history, rules } = await playSituation({ ...asked, seed }, contender)
    const { lost, doubled } = judgedOutcome(check(history, rules))
    say(`Searching: seed ${seed}`)
    if (lost.size + doubled.size === 0 || search !== shown.search) continue
    await load({ ...asked, seed }, 'bad')
    endSearch(`Seed ${seed}: ${lost.size} lost, ${doubled.size} doubled.`)
    return
  }
  if (search === shown.search) {
    endSearch(`No lost and no doubled message in seeds ${from + 1} to ${from + SEARCHED_SEEDS}.`)
  }
}

function endSearch(text: string): void {
  shown.search++
  findButton.textContent = 'Find a bad schedule'
  say(text)
}

function say(text: string): void {
  element('found').textContent = text
}

function startPlaying(): void {
  if (shown.situation.step >= shown.steps.length - 1) goTo(0)
  playButton.textContent = 'Pause'
  const tick = (): void => {
    goTo(shown.situation.step + 1)
    if (shown.situation.step >= shown.steps.length - 1) stopPlaying()
    else shown.playing = window.setTimeout(tick, Number(speed.value))
  }
  shown.playing = window.setTimeout(tick, Number(speed.value))
}

function stopPlaying(): void {
  window.clearTimeout(shown.playing)
  shown.playing = 0
  playButton.textContent = 'Play'
}

function toggle(): void {
  if (shown.playing === 0) startPlaying()
  else stopPlaying()
}

/** An error is shown where people look. */
async function run(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    say(`This page has an error: ${String(error)}`)
  }
}

for (const [title, situation] of STARTS) {
  const item = make('li')
  item.append(
    button('small-button', title, () => void run(load({ ...situation, contender: shown.situation.contender }))),
  )
  element('starts').append(item)
}
element('back').addEventListener('click', () => goTo(shown.situation.step - 1))
element('next').addEventListener('click', () => goTo(shown.situation.step + 1))
element('rebalance').addEventListener('click', () => act('rebalance'))
playButton.addEventListener('click', toggle)
slider.addEventListener('input', () => goTo(Number(slider.value)))
seedInput.addEventListener('change', () => {
  const seed = Math.max(1, Math.trunc(Number(seedInput.value)) || 1)
  void run(load({ ...shown.situation, seed, step: 0 }))
})
seedFaults.addEventListener('change', () => {
  void run(load({ ...shown.situation, isQuiet: !seedFaults.checked, step: 0 }))
})
findButton.addEventListener('click', () => {
  if (findButton.textContent === 'Find a bad schedule') void run(find())
  else endSearch('The search was stopped.')
})
window.addEventListener('hashchange', () => void run(load(fromLink(location.hash))))
document.addEventListener('keydown', (event) => {
  const target = event.target as HTMLElement
  if (['INPUT', 'SELECT', 'BUTTON'].includes(target.tagName)) return
  if (event.key === 'ArrowRight') goTo(shown.situation.step + 1)
  else if (event.key === 'ArrowLeft') goTo(shown.situation.step - 1)
  else if (event.key === ' ') toggle()
  else return
  event.preventDefault()
})
void run(load(fromLink(location.hash)))
