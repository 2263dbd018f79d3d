// What a person looks at first where a server gave no answer. Pure: the pages of the dashboard use it, too.

/** By the code of the error. `undefined`: another code. */
export function adviceOnNoAnswer(code: string): string | undefined {
  return Object.hasOwn(LOOK, code) ? LOOK[code] : undefined
}

const LOOK: Readonly<Record<string, string>> = {
  STORE_UNREACHABLE: 'See that the server of the store runs, and that the address in the config is right from here',
  BROKER_UNREACHABLE: 'See that the broker runs, and that the address in the config is right from here',
}
