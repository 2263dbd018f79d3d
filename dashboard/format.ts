// How numbers and times are written. Pure: `now` is given.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `830 ms`, `1.2 s`, `4 min`, `3.5 h`, `12 days`. */
export function duration(ms: number): string {
  const size = Math.abs(ms)
  if (size < 1) return size === 0 ? '0 ms' : '< 1 ms'
  if (size < SECOND) return `${Math.round(ms)} ms`
  if (size < MINUTE) return `${short(ms / SECOND)} s`
  if (size < HOUR) return `${short(ms / MINUTE)} min`
  if (size < 2 * DAY) return `${short(ms / HOUR)} h`
  return `${short(ms / DAY)} days`
}

/** `12 s ago`, `in 4 min`, `now`. */
export function relative(at: number, now: number): string {
  const ms = now - at
  if (Math.abs(ms) < SECOND) return 'now'
  const whole = duration(Math.round(ms / SECOND) * SECOND)
  return ms > 0 ? `${whole} ago` : `in ${whole.replace('-', '')}`
}

/** `2026-11-23 19:30:12.345` in the time zone of the reader. */
export function exact(at: number): string {
  const time = new Date(at)
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
  return `${date} ${clock}.${String(time.getMilliseconds()).padStart(3, '0')}`
}

/** `UTC+01:00`: the time zone of the reader at that time. */
export function zone(at: number): string {
  const east = -new Date(at).getTimezoneOffset()
  const size = Math.abs(east)
  return east === 0 ? 'UTC' : `UTC${east < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/** `19:30:12` */
export function clockTime(at: number): string {
  return exact(at).slice(11, 19)
}

/** `sms/3/1204` on Kafka, as a message is found by its place; else the queue and what the broker says of it. */
export function place({ system, destination, position }: Placed): string {
  const [, partition, offset] = /^(\d+)@(\d+)$/.exec(position) ?? []
  return system === 'kafka' && partition !== undefined
    ? `${destination}/${partition}/${offset}`
    : `${destination} ${position}`
}

interface Placed {
  readonly system: string
  readonly destination: string
  readonly position: string
}

/** `12,345`, `1.2 M` from a million on. */
export function count(value: number): string {
  if (value >= 1_000_000) return `${short(value / 1_000_000)} M`
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 && value % 1 !== 0 ? 1 : 0 })
}

/** `1 message`, `12 messages` */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** A number as `text` writes it; `–` if it is not known. */
export function known(value: number | null | undefined, text: (value: number) => string): string {
  return value === null || value === undefined ? '–' : text(value)
}

function short(value: number): string {
  return Math.abs(value) >= 10 ? String(Math.round(value)) : String(Math.round(value * 10) / 10)
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
