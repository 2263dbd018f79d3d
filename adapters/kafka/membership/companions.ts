import type { Companions } from '../client.ts'
import type { KafkaEvent, Report } from '../report.ts'

/** The data that a member sends to the leader of its group. */
interface Member {
  /** `undefined`: the member does not send it. */
  readonly consumer: string | undefined
  /** All topics that it should consume, including missing ones. */
  readonly topics: readonly string[]
}

/** Most names, or sets of topics, that an event lists, and the longest text of each. */
const MOST_TOLD = 5
const MOST_CHARACTERS = 300

/**
 * Compares the members of the group, in all processes. Each member sends its consumer's name and its topics in the user
 * data of its subscription. The data of another member may be anything, so none of it makes an assignment fail.
 */
export class ComparedMembers implements Companions {
  readonly userData: Buffer
  readonly #report: Report
  readonly #told = new Map<KafkaEvent, string>()

  constructor(own: Member, report: Report) {
    this.userData = Buffer.from(JSON.stringify(own))
    this.#report = report
  }

  compare(members: Parameters<Companions['compare']>[0]): void {
    try {
      this.#compare(members.map(memberOf))
    } catch {
      // The assignment is more important.
    }
  }

  #compare(members: readonly Member[]): void {
    const names = different(
      members.flatMap(({ consumer }) => (consumer === undefined ? [] : [JSON.stringify(consumer)])),
    )
    this.#tell('consumer-name-differs', names, 'each handles a part of the messages. Give each consumer its own group')
    const topics = different(members.map((member) => `[${member.topics.toSorted().join(', ')}]`))
    this.#tell('topics-differ', topics, 'partitions may stay unread. Give all members of the group the same topics')
  }

  /** Reports a finding once, until it changes. */
  #tell(event: KafkaEvent, found: readonly string[], advice: string): void {
    const detail = found.length < 2 ? '' : `the members of the group have ${found.join(' and ')}: ${advice}`
    if (this.#told.get(event) === detail) return
    this.#told.set(event, detail)
    if (detail !== '') this.#report(event, detail)
  }
}

function memberOf({ topics, userData }: { readonly topics: readonly string[]; readonly userData: Buffer }): Member {
  const told = toldIn(userData)
  const consumer = typeof told['consumer'] === 'string' ? told['consumer'] : undefined
  return { consumer, topics: isListOfText(told['topics']) ? told['topics'] : topics }
}

/** Other clients have their own user data. */
function toldIn(userData: Buffer): Readonly<Record<string, unknown>> {
  try {
    const told: unknown = JSON.parse(userData.toString())
    return typeof told === 'object' && told !== null ? (told as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function different(texts: readonly string[]): readonly string[] {
  const all = [...new Set(texts)].toSorted().map((text) => text.slice(0, MOST_CHARACTERS))
  return all.length <= MOST_TOLD ? all : [...all.slice(0, MOST_TOLD), `${all.length - MOST_TOLD} more`]
}
