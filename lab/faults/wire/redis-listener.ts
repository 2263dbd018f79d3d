import { CLAIM } from '../../../adapters/redis/lease/scripts/claim.ts'
import { MARK } from '../../../adapters/redis/lease/scripts/mark.ts'
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
      const step = STEPS.find(({ script: { sha, lua } }) => bytes.includes(sha) || bytes.includes(lua))
      if (step === undefined || !bytes.includes(key)) return []
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
