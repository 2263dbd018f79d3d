import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { chromium, type Browser } from 'playwright-core'
import { bundleEngine } from '../../site/proof/build/bundle.ts'
import { CONTENDERS, type Contender } from '../../site/proof/engine/contenders.ts'
import type * as Engine from '../../site/proof/engine/index.ts'
import { judgedOutcome } from '../../site/proof/engine/outcome.ts'
import { play } from '../../site/proof/engine/play.ts'
import { needChromium } from '../../test/kit/servers/programs.ts'
import { check } from '../../testing/index.ts'

/** The global of the bundle, in the browser. */
declare const proof: typeof Engine

const SEEDS = 100

interface Counts {
  readonly seed: number
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** The simulator's own verdict, in Node. */
async function judged(contender: Contender, seed: number): Promise<Counts> {
  const { history, rules } = await play(seed, contender, turn)
  const { lost, doubled } = judgedOutcome(check(history, rules))
  return { seed, lost: [...lost].toSorted(), doubled: [...doubled].toSorted() }
}

describe('the six consumers in Chromium', () => {
  let browser: Browser

  beforeAllOpen(
    async (own) =>
      (browser = own(await chromium.launch({ executablePath: await needChromium(), chromiumSandbox: false }))),
  )

  it.each(CONTENDERS)('%s loses and doubles what the checker says, for a hundred seeds', async (contender) => {
    const page = await browser.newPage()
    await page.addScriptTag({ content: await bundleEngine() })
    const shown = await page.evaluate(
      async ({ name, seeds }) => {
        const all: Counts[] = []
        for (let seed = 1; seed <= seeds; seed++) {
          const { lost, doubled } = proof.outcomeOf((await proof.playSeed(seed, name)).history)
          all.push({ seed, lost: [...lost].toSorted(), doubled: [...doubled].toSorted() })
        }
        return all
      },
      { name: contender, seeds: SEEDS },
    )
    const expected: Counts[] = []
    for (let seed = 1; seed <= SEEDS; seed++) expected.push(await judged(contender, seed))
    expect(shown).toEqual(expected)
    await page.close()
  })
})
