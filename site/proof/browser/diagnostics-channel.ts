// In place of node:diagnostics_channel: channels to which nobody subscribes.

interface Channel {
  readonly hasSubscribers: boolean
  readonly publish: () => void
}

const NAMES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

export function channel(): Channel {
  return { hasSubscribers: false, publish: () => {} }
}

export function tracingChannel(): Readonly<Record<(typeof NAMES)[number], Channel>> {
  return Object.fromEntries(NAMES.map((name) => [name, channel()])) as ReturnType<typeof tracingChannel>
}
