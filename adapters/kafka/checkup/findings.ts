import { checkFindings, type AtStart, type CheckFinding, type CheckFindings } from '../../../src/internal.ts'

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

type Findings = CheckFindings<Breakable>

const made: Findings = checkFindings('kafka', AT_START)
export const holds: Findings['holds'] = made.holds
export const weaker: Findings['weaker'] = made.weaker
export const weakerByDefault: Findings['weakerByDefault'] = made.weakerByDefault
export const unknown: Findings['unknown'] = made.unknown
export const broken: Findings['broken'] = made.broken

export function forbidden(check: string, what: string, why: string): CheckFinding {
  const meaning = 'It may not be looked at: allow DescribeConfigs and Describe to this client, or look by hand.'
  return unknown(check, `${what}: ${why}`, meaning)
}
