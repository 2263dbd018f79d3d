import { CLAIM } from '../../../adapters/redis/scripts/claim.ts'
import { MARK } from '../../../adapters/redis/scripts/mark.ts'
import type { Listener, Target } from './listener.ts'

const STEPS = [
  { script: CLAIM, asked: 'claim sent', answered: 'claimed' },
  { script: MARK, asked: 'mark sent', answered: 'marked' },
] as const

/** A store has one request per message in flight, so the next answer belongs to the last request. */
export function redisListener({ key }: Target): Listener {
  let waitsFor: 'claimed' | 'marked' | undefined
  return {
    fromClient: (bytes) => {
      const step = callsIn(bytes).find(({ words }) => words.includes(key))?.step
      if (step === undefined) return []
      waitsFor = step.answered
      return [{ moment: step.asked, isTarget: true }]
    },
    fromServer: () => {
      if (waitsFor === undefined) return []
      const moment = waitsFor
      waitsFor = undefined
      return [{ moment, isTarget: true }]
    },
  }
}

/** The calls of scripts in one piece, which may hold the claim of one message and the mark of another. */
function callsIn(bytes: Buffer): readonly { readonly step: (typeof STEPS)[number]; readonly words: Buffer }[] {
  const found = STEPS.flatMap((step) => {
    const { sha, lua } = step.script
    return [...startsOf(bytes, sha), ...startsOf(bytes, lua)].map((start) => ({ step, start }))
  }).toSorted((a, b) => a.start - b.start)
  return found.map(({ step, start }, index) => ({ step, words: bytes.subarray(start, found[index + 1]?.start) }))
}

function startsOf(bytes: Buffer, word: string): readonly number[] {
  const starts: number[] = []
  for (let at = bytes.indexOf(word); at !== -1; at = bytes.indexOf(word, at + word.length)) starts.push(at)
  return starts
}
