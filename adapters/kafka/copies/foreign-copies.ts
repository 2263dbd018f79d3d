import { COPY_HEADER, copyText } from '../../../src/internal.ts'
import { headersOf } from './headers.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { Report } from '../report.ts'
import type { RawMessage } from '../client.ts'

type Own = Pick<ResolvedKafka, 'group' | 'topology'>

/**
 * Default names of retry topics can collide, because names may contain dots: `a.b.c.retry-1` belongs to topic `a.b` in
 * group `c`, and to topic `a` in group `b.c`. Each copy names its topic and group in headers, so each group takes its
 * own copies and leaves the others to their group, which consumes the topic too.
 */
export class ForeignCopies {
  readonly #own: Own
  readonly #report: Report

  constructor(own: Own, report: Report) {
    this.#own = own
    this.#report = report
  }

  /**
   * The messages without copies that another group wrote to a topic of the same name. Reports how many it leaves out.
   */
  leaveOut(topic: string, messages: readonly RawMessage[]): readonly RawMessage[] {
    const isRetry = this.#own.topology.places.some((place) => place.kind === 'retry' && place.topic === topic)
    if (!isRetry) return messages
    const owners = new Map<string, number>()
    const own = messages.filter((message) => {
      const owner = this.#otherOwner(topic, message)
      if (owner !== undefined) owners.set(owner, (owners.get(owner) ?? 0) + 1)
      return owner === undefined
    })
    for (const [owner, count] of owners) {
      this.#report(
        'foreign-copies',
        `${topic}: ${count} of ${owner}, whose retry topic has the same name; not handled here`,
      )
    }
    return own
  }

  /**
   * Only if its headers result in exactly this name: a group that was renamed, or that got a topic by configuration,
   * must handle the existing copies.
   */
  #otherOwner(topic: string, message: RawMessage): string | undefined {
    const { group: ours, topology } = this.#own
    const headers = headersOf(message.headers)
    const [origin, group] = [copyText(headers, COPY_HEADER.originTopic), copyText(headers, COPY_HEADER.group)]
    if (origin === undefined || group === undefined || group === ours || topology.sources.includes(origin))
      return undefined
    const prefix = `${origin}.${group}.retry-`
    const isNamedSo = topic.startsWith(prefix) && /^\d+$/.test(topic.slice(prefix.length))
    return isNamedSo ? `topic ${origin}, group ${group}` : undefined
  }
}
