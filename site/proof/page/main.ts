import { CONTENDERS, outcomeOf, playSeed } from '../engine/index.ts'
import type { Contender } from '../engine/contenders.ts'
import { stepsOf, type Step } from './scene.ts'

const SEARCHED_SEEDS = 500

const TITLES: Readonly<Record<Contender, string>> = {
  raw: 'At least once, as it is',
  'ack-first': 'Ack first',
  'setnx-first': 'SETNX first',
  lease: 'consume-once, lease',
  'lease-park': 'consume-once, lease with park',
  inbox: 'consume-once, inbox',
}

const state = {
  seed: 1,
  contender: 'raw' as Contender,
  at: 0,
  steps: [] as readonly Step[],
  playing: 0,
  search: 0,
  load: 0,
}

function element(id: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(`#${id}`)
  if (found === null) throw new TypeError(`the page has no element #${id}`)
  return found
}

const seedInput = element('seed') as HTMLInputElement
const slider = element('at') as HTMLInputElement
const playButton = element('play') as HTMLButtonElement
const findButton = element('find') as HTMLButtonElement
const speed = element('speed') as HTMLSelectElement
const contenderSelect = element('contender') as HTMLSelectElement

/** Plays a seed and shows it at a step; a negative one counts from the end, `bad` is the first bad one. */
async function load(seed: number, contender: Contender, at: number | 'bad'): Promise<void> {
  stopPlaying()
  const ticket = ++state.load
  const { history } = await playSeed(seed, contender)
  if (ticket !== state.load) return
  const isNewSeed = state.seed !== seed || state.steps.length === 0
  Object.assign(state, { seed, contender, steps: stepsOf(history) })
  const bad = state.steps.findIndex(({ isBad }) => isBad)
  state.at = Math.max(0, Math.min(at === 'bad' ? bad : at, state.steps.length - 1))
  seedInput.value = String(seed)
  contenderSelect.value = contender
  slider.max = String(state.steps.length - 1)
  drawLines()
  show()
  if (isNewSeed) await compare(ticket)
}

function show(): void {
  const step = state.steps[state.at]
  if (step === undefined) return
  slider.value = String(state.at)
  slider.setAttribute('aria-valuetext', step.text)
  element('time').textContent = `Step ${state.at + 1} of ${state.steps.length}, ${step.at} ms`
  const text = element('text')
  text.textContent = step.text
  text.className = step.isBad ? 'bad' : ''
  const { world } = step
  fill('in-broker', world.broker)
  fill('in-store', world.store)
  fill(
    'in-effects',
    world.effects.map(([message, times]) => (times > 1 ? `${message} ×${times}` : message)),
    /×/,
  )
  element('workers').replaceChildren(
    ...world.workers.map(({ name, isUp, running }) => {
      const card = make('section', `card${isUp ? '' : ' down'}${step.who === name ? ' acts' : ''}`)
      card.append(make('h2', '', `Worker ${name}${isUp ? '' : ' (dead)'}`), chips(running))
      return card
    }),
  )
  for (const [id, who] of [
    ['broker', 'broker'],
    ['store', 'store'],
    ['outside', 'provider'],
    ['producer', 'producer'],
  ] as const) {
    element(id).classList.toggle('acts', step.who === who)
  }
  const doubled = world.effects.filter(([, times]) => times > 1).length
  element('counts').textContent = `Effects: ${world.effects.length}. Doubled so far: ${doubled}.`
  for (const dot of document.querySelectorAll('#lines [data-step]')) {
    dot.classList.toggle('now', dot.getAttribute('data-step') === String(state.at))
  }
  history.replaceState(null, '', `#seed=${state.seed}&consumer=${state.contender}&step=${state.at}`)
}

/** One row for each message, one mark for each step of it. */
function drawLines(): void {
  const messages = [...new Set(state.steps.flatMap(({ message }) => message ?? []))].toSorted()
  const table = element('lines')
  table.replaceChildren(
    ...messages.map((message) => {
      const row = make('li', 'line')
      row.append(make('b', '', message))
      for (const [at, step] of state.steps.entries()) {
        if (step.message !== message) continue
        const dot = make('button', `dot ${step.kind}${step.isBad ? ' bad' : ''}`, LETTERS[step.kind])
        dot.setAttribute('type', 'button')
        dot.setAttribute('data-step', String(at))
        dot.setAttribute('aria-label', `${step.at} ms: ${step.text}`)
        dot.title = step.text
        dot.addEventListener('click', () => goTo(at))
        row.append(dot)
      }
      return row
    }),
  )
}

const LETTERS: Readonly<Record<Step['kind'], string>> = {
  send: 'S',
  deliver: 'D',
  claim: 'C',
  run: 'R',
  effect: 'E',
  mark: 'M',
  aside: 'P',
  settle: 'A',
  fault: 'F',
  end: '.',
}

/** The six consumers on this seed, one after the other, each in turns of the event loop. */
async function compare(ticket: number): Promise<void> {
  const body = element('compared')
  body.replaceChildren()
  for (const contender of CONTENDERS) {
    const { lost, doubled, parked, deadLettered } = outcomeOf((await playSeed(state.seed, contender)).history)
    if (ticket !== state.load) return
    const row = make('tr')
    const name = make('th')
    name.setAttribute('scope', 'row')
    const choose = make('button', 'link', TITLES[contender])
    choose.setAttribute('type', 'button')
    choose.addEventListener('click', () => void run(load(state.seed, contender, 0)))
    name.append(choose)
    row.append(name)
    row.dataset['contender'] = contender
    for (const [value, isFault] of [
      [lost.size, true],
      [doubled.size, true],
      [parked.size, false],
      [deadLettered.size, false],
    ] as const) {
      row.append(make('td', isFault && value > 0 ? 'bad' : '', String(value)))
    }
    body.append(row)
  }
}

/** Searches the seeds after this one for a message that is lost or has its effect twice, and shows the step. */
async function find(): Promise<void> {
  const search = ++state.search
  findButton.textContent = 'Stop the search'
  const { contender, seed: from } = state
  for (let seed = from + 1; seed <= from + SEARCHED_SEEDS && search === state.search; seed++) {
    const { lost, doubled } = outcomeOf((await playSeed(seed, contender)).history)
    element('found').textContent = `Searching: seed ${seed}`
    if (lost.size + doubled.size === 0 || search !== state.search) continue
    await load(seed, contender, 'bad')
    endSearch(`Seed ${seed}: ${lost.size} lost, ${doubled.size} doubled.`)
    return
  }
  if (search === state.search) {
    endSearch(`No lost and no doubled message in seeds ${from + 1} to ${from + SEARCHED_SEEDS}.`)
  }
}

function endSearch(text: string): void {
  state.search++
  findButton.textContent = 'Find a bad schedule'
  element('found').textContent = text
}

function goTo(at: number): void {
  state.at = Math.max(0, Math.min(at, state.steps.length - 1))
  show()
}

function play(): void {
  if (state.at >= state.steps.length - 1) state.at = 0
  playButton.textContent = 'Pause'
  const tick = (): void => {
    goTo(state.at + 1)
    if (state.at >= state.steps.length - 1) stopPlaying()
    else state.playing = window.setTimeout(tick, Number(speed.value))
  }
  state.playing = window.setTimeout(tick, Number(speed.value))
}

function stopPlaying(): void {
  window.clearTimeout(state.playing)
  state.playing = 0
  playButton.textContent = 'Play'
}

function toggle(): void {
  if (state.playing === 0) play()
  else stopPlaying()
}

function fill(id: string, messages: readonly string[], bad?: RegExp): void {
  element(id).replaceChildren(chips(messages, bad))
}

function chips(messages: readonly string[], bad?: RegExp): HTMLElement {
  const list = make('ul', 'chips')
  for (const message of messages) list.append(make('li', bad?.test(message) === true ? 'bad' : '', message))
  if (messages.length === 0) list.append(make('li', 'none', 'nothing'))
  return list
}

function make(name: string, className = '', text = ''): HTMLElement {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  made.textContent = text
  return made
}

/** An error is shown where people look. */
async function run(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    element('found').textContent = `This page has an error: ${String(error)}`
  }
}

function fromLink(): readonly [seed: number, contender: Contender, at: number] {
  const link = new URLSearchParams(location.hash.slice(1))
  const seed = Number(link.get('seed') ?? 1)
  const contender = CONTENDERS.find((one) => one === link.get('consumer')) ?? 'raw'
  const at = Number(link.get('step') ?? 0)
  return [Number.isSafeInteger(seed) && seed > 0 ? seed : 1, contender, Number.isSafeInteger(at) ? at : 0]
}

for (const contender of CONTENDERS) {
  const option = make('option', '', TITLES[contender])
  option.setAttribute('value', contender)
  contenderSelect.append(option)
}
element('back').addEventListener('click', () => goTo(state.at - 1))
element('next').addEventListener('click', () => goTo(state.at + 1))
playButton.addEventListener('click', toggle)
slider.addEventListener('input', () => goTo(Number(slider.value)))
seedInput.addEventListener(
  'change',
  () => void run(load(Math.max(1, Math.trunc(Number(seedInput.value)) || 1), state.contender, 0)),
)
contenderSelect.addEventListener(
  'change',
  () => void run(load(state.seed, CONTENDERS[contenderSelect.selectedIndex] ?? 'raw', 0)),
)
findButton.addEventListener('click', () => {
  if (findButton.textContent === 'Find a bad schedule') void run(find())
  else endSearch('The search was stopped.')
})
window.addEventListener('hashchange', () => void run(load(...fromLink())))
document.addEventListener('keydown', (event) => {
  const target = event.target as HTMLElement
  if (['INPUT', 'SELECT', 'BUTTON'].includes(target.tagName)) return
  if (event.key === 'ArrowRight') goTo(state.at + 1)
  else if (event.key === 'ArrowLeft') goTo(state.at - 1)
  else if (event.key === ' ') toggle()
  else return
  event.preventDefault()
})
void run(load(...fromLink()))
