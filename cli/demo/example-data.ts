/**
 * Generates the SMS example: the contents of `examples/data/sms-notifications.ndjson`, the same bytes on every run, so
 * that the package does not contain five megabytes. No clock, no Math.random, and only exact arithmetic: Math.log or a
 * power may differ between engines.
 */
const SEED = 0x5eed_0001
const TOPIC = 'sms-notifications'
const PARTITIONS = 4
const BROKERS = 3
const STARTED_AT = 1_760_000_000_000
const MESSAGES = 8_600
const CUSTOMERS = 2_400

/** Share of messages whose producer got no answer and sent them again within a second. */
const RETRIED = 0.09
/** Share of messages sent again minutes later by a job that had lost track of them. */
const RESENT = 0.06

/** The outbox relay dies after this message, while its cursor is `REPLAYED` messages behind. */
const LAST_BEFORE_CRASH = 5_100
const REPLAYED = 400
const DOWN_MS = 45_000
const RELAY_GAP_MS = 6

type Country = 'US' | 'GB' | 'FR'
type Kind = 'otp' | 'delivery-update' | 'appointment-reminder' | 'payment-receipt' | 'marketing'
type Customer = { readonly id: string; readonly phone: string; readonly country: Country; readonly locale: string }
type Message = { readonly id: string; readonly key: string; readonly payload: string }

/** One arrival on the topic. A message arrives once or several times. */
type Delivery = { readonly message: Message; readonly ts: number }

/** The whole file, one kcat envelope per line. */
export function exampleData(): string {
  const random = mulberry32(SEED)
  const customers = Array.from({ length: CUSTOMERS }, (_, index) => customer(random, index))
  const first = firstDeliveries(random, customers)
  const deliveries = outage(first, [...first, ...retriesAndResends(random, first)])
  const offsets = new Map<number, number>()
  const lines = deliveries.map(({ message, ts }) => {
    const partition = hash(message.key) % PARTITIONS
    const offset = offsets.get(partition) ?? 0
    offsets.set(partition, offset + 1)
    const traceparent = `00-${hex(random, 32)}-${hex(random, 16)}-01`
    return JSON.stringify({
      topic: TOPIC,
      partition,
      offset,
      tstype: 'create',
      ts,
      broker: 1 + (partition % BROKERS),
      headers: ['message-id', message.id, 'traceparent', traceparent, 'content-type', 'application/json'],
      key: message.key,
      payload: message.payload,
    })
  })
  return `${lines.join('\n')}\n`
}

function firstDeliveries(random: Random, customers: readonly Customer[]): Delivery[] {
  let ts = STARTED_AT
  return Array.from({ length: MESSAGES }, () => {
    ts += 40 + Math.floor(6_900 * mostlySmall(random))
    const to = at(customers, mostlySmall(random))
    return { message: notification(random, to, ts - between(random, 15, 400)), ts }
  })
}

function retriesAndResends(random: Random, first: readonly Delivery[]): Delivery[] {
  return first.flatMap(({ message, ts }) => {
    const again: Delivery[] = []
    if (random() < RETRIED) {
      const retryTs = ts + between(random, 40, 400)
      again.push({ message, ts: retryTs })
      if (random() < 0.25) again.push({ message, ts: retryTs + between(random, 100, 500) })
    }
    if (random() < RESENT) again.push({ message, ts: ts + between(random, 2 * 60_000, 40 * 60_000) })
    return again
  })
}

/**
 * Adds the crash of the relay to the timeline: nothing is published while it is down, then the last `REPLAYED` messages
 * are sent a second time in a row, followed by the backlog. Returns all deliveries in time order.
 */
function outage(first: readonly Delivery[], all: readonly Delivery[]): Delivery[] {
  const unsaved = first.slice(LAST_BEFORE_CRASH - REPLAYED, LAST_BEFORE_CRASH)
  const crashedAt = (unsaved.at(-1)?.ts ?? STARTED_AT) + 1
  const restartedAt = crashedAt + DOWN_MS
  const caughtUpAt = restartedAt + REPLAYED * RELAY_GAP_MS
  const replay = unsaved.map(({ message }, index) => ({ message, ts: restartedAt + index * RELAY_GAP_MS }))
  const held = all.filter(({ ts }) => ts >= crashedAt && ts < caughtUpAt).toSorted(byTime)
  const backlog = held.map(({ message }, index) => ({ message, ts: caughtUpAt + index * RELAY_GAP_MS }))
  const others = all.filter(({ ts }) => ts < crashedAt || ts >= caughtUpAt)
  return [...others, ...replay, ...backlog].toSorted(byTime)
}

function byTime(one: Delivery, other: Delivery): number {
  return one.ts - other.ts
}

/** Only numbers reserved for fiction: 555-01xx (US), 07700 900xxx (Ofcom), 06 39 98 xx xx (Arcep). */
function customer(random: Random, index: number): Customer {
  const country = at(['US', 'US', 'GB', 'FR'] as const, random())
  const locale = at(LOCALES[country], random())
  const phones: Record<Country, () => string> = {
    US: () => `+1${at(AREA_CODES, random())}55501${digits(random, 2)}`,
    GB: () => `+447700900${digits(random, 3)}`,
    FR: () => `+3363998${digits(random, 4)}`,
  }
  return { id: `c${10_000 + index * 7}`, country, locale, phone: phones[country]() }
}

function notification(random: Random, to: Customer, createdAt: number): Message {
  const id = ulid(random, createdAt)
  const type = at(KINDS, random())
  const text = BODIES[type].split(' | ')[LANGUAGES.indexOf(to.locale)] ?? ''
  const body = text.replace('#', () => DETAILS[type](random, to.country))
  const payload = { notificationId: id, type, recipient: { phone: to.phone }, locale: to.locale, body }
  return { id, key: to.id, payload: JSON.stringify(payload) }
}

const DETAILS: Readonly<Record<Kind, (random: Random, country: Country) => string>> = {
  otp: (random) => digits(random, 6),
  'delivery-update': (random) => `${at(['DX', 'KP', 'RM'], random())}${digits(random, 7)}`,
  'appointment-reminder': (random) => `${between(random, 8, 17)}:${at(['00', '15', '30', '45'], random())}`,
  'payment-receipt': (random, country) => money(between(random, 250, 48_000), country),
  marketing: (random) => String(5 * between(random, 1, 8)),
}

function money(cents: number, country: Country): string {
  const whole = Math.floor(cents / 100)
  const rest = String(cents % 100).padStart(2, '0')
  if (country === 'FR') return `${whole},${rest} €`
  return `${country === 'US' ? '$' : '£'}${whole}.${rest}`
}

type Random = () => number

/** A small generator with 32 bits of state (mulberry32); numbers in [0, 1). */
function mulberry32(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The item at a share of the list; 0 is the first. */
function at<T>(list: readonly T[], share: number): T {
  const item = list[Math.floor(share * list.length)]
  if (item === undefined) throw new RangeError(`example data: no item at ${share} of a list of ${list.length}`)
  return item
}

function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

/** In [0, 1), mostly small: short gaps are common and long ones rare, and a few customers are much busier than most. */
function mostlySmall(random: Random): number {
  const share = random()
  return share * share
}

function digits(random: Random, length: number): string {
  return String(Math.floor(random() * 10 ** length)).padStart(length, '0')
}

function hex(random: Random, length: number): string {
  return Array.from({ length }, () => at(HEX, random())).join('')
}

/** 10 characters of time, most significant first, and 16 random ones. */
function ulid(random: Random, createdAt: number): string {
  const time = Array.from({ length: 10 }, (_, index) => Math.floor(createdAt / 2 ** (45 - 5 * index)) % 32)
  return [
    ...time.map((digit) => at(CROCKFORD, digit / 32)),
    ...Array.from({ length: 16 }, () => at(CROCKFORD, random())),
  ].join('')
}

/** FNV-1a, folded because its low bits alone spread badly. It only keeps a key on one partition. */
function hash(key: string): number {
  let sum = 0x811c9dc5
  for (const byte of Buffer.from(key)) sum = Math.imul(sum ^ byte, 0x01000193)
  return (sum ^ (sum >>> 15)) >>> 0
}

const HEX = '0123456789abcdef'.split('')
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.split('')
const AREA_CODES = ['202', '303', '312', '415', '512', '617', '702', '808']
const LANGUAGES = ['ar', 'de', 'en', 'es', 'fr', 'hi', 'pl', 'zh']

// Repeated entries are weights.
const LOCALES: Readonly<Record<Country, readonly string[]>> = {
  US: ['en', 'en', 'en', 'es', 'es', 'zh'],
  GB: ['en', 'en', 'en', 'pl', 'hi', 'de'],
  FR: ['fr', 'fr', 'fr', 'ar', 'de'],
}
const WEIGHTS: Readonly<Record<Kind, number>> = {
  otp: 10,
  'delivery-update': 4,
  'appointment-reminder': 2,
  'payment-receipt': 3,
  marketing: 1,
}
const KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  Array.from<Kind>({ length: weight }).fill(kind as Kind),
)

/** The texts of a kind, in the order of `LANGUAGES`. */
const BODIES: Readonly<Record<Kind, string>> = {
  otp: 'رمزك هو # | Ihr Schlüssel: # | Your code is # | Tu código es # | Votre code à usage unique : # | आपका कोड # | Twój kod to # | 验证码 #',
  'delivery-update':
    'تصل الشحنة # اليوم | Paket # wird heute zugestellt. | Parcel # arrives today. | El paquete # llega mañana. | Colis # livré ce soir. | पार्सल # आज | Paczka # dotrze dziś. | 包裹#今天送达。',
  'appointment-reminder':
    'موعدك غدًا الساعة # | Ihr Termin: morgen # Uhr. Bis dann, Praxis Groß | See you tomorrow at #. | Le esperamos mañana a las #. | Rendez-vous demain à #. | कल # बजे मिलते हैं | Wizyta jutro o #. Do zobaczenia! | 预约时间:明天#。',
  'payment-receipt':
    'استلمنا # شكرًا | Zahlung über # erhalten. | We received #. Thank you. | Recibimos #. ¡Gracias! | Paiement reçu : #. | # प्राप्त हुए | Otrzymaliśmy #. Dziękujemy! | 已收到 #,谢谢。',
  marketing:
    '🎉 خصم #٪ | 🎉 # % für Sie!\nAntwort STOPP: keine Werbung | 🎉 #% off with "SUNNY"\nSTOP to opt out | 🎉 ¡#% menos!\nBAJA: no más | 🎉 −# % dès samedi\nSTOP au 36000 | 🎉 #% की छूट | 🎉 −#% dla Ciebie | 🎉 优惠 #%',
}
