import { checkFindings, type AtStart, type CheckFinding, type CheckFindings } from '../../../src/internal.ts'

export type Found = Omit<CheckFinding, 'check'>

const NOT_ASKED: AtStart = {
  startsBecause:
    'A start asks for no settings of topics, which needs the right DescribeConfigs: run doctor where it is allowed.',
}

type Breakable =
  | 'topic missing'
  | 'cleanup-policy compacted'
  | 'dead-letter-topic missing'
  | 'dead-letter-topic settings'
  | 'retry-topic missing'
  | 'retry-topic settings'
  | 'stranded-copies own'

/** What a start does about each check that can be `broken`. */
const AT_START: Readonly<Record<Breakable, AtStart>> = {
  'topic missing': {
    startsBecause: 'The consumer starts with its other topics and waits for this one; without any other it does not.',
  },
  'cleanup-policy compacted': NOT_ASKED,
  'dead-letter-topic missing': 'refused',
  'dead-letter-topic settings': NOT_ASKED,
  'retry-topic missing': 'refused',
  'retry-topic settings': NOT_ASKED,
  'stranded-copies own': {
    startsBecause: 'The copies stay where they are, and messages of other topics must not wait for them.',
  },
}

const made: CheckFindings<Breakable> = checkFindings('kafka', AT_START)

/** A finding without the name of its check. */
export function holds(found: string): Found {
  return { verdict: 'holds', found, meaning: '' }
}

export function weaker(found: string, meaning: string): Found {
  return { verdict: 'weaker', found, meaning }
}

export function unknown(found: string, meaning: string): Found {
  return { verdict: 'unknown', found, meaning }
}

export function broken(check: Breakable, found: string, meaning: string): Found {
  const { check: _check, ...rest } = made.broken(check, found, meaning)
  return rest
}
