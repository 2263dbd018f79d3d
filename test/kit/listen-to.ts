import { tracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel'

type Phase = keyof TracingChannelSubscribers<object>

interface Listening {
  /** What is told on the channel, in order: the phase, and its fields. */
  readonly told: (readonly [Phase, Readonly<Record<string, unknown>>])[]
  readonly end: () => void
}

export function listenTo(name: string): Listening {
  const told: (readonly [Phase, Readonly<Record<string, unknown>>])[] = []
  const tell = (phase: Phase) => (fields: object) => void told.push([phase, { ...fields }])
  const subscribers: TracingChannelSubscribers<object> = {
    start: tell('start'),
    end: tell('end'),
    asyncStart: tell('asyncStart'),
    asyncEnd: tell('asyncEnd'),
    error: tell('error'),
  }
  const channel = tracingChannel<unknown, object>(name)
  channel.subscribe(subscribers)
  return { told, end: () => channel.unsubscribe(subscribers) }
}
