// Tests of the tool run most commands in one process: that each is as alone there as in its own.
import { describe, expect, it, jest } from '@jest/globals'
import { compiled } from '../kit/compiled.ts'
import { AS_PROCESS, Cli, WITHIN_MS, type CliRun } from '../kit/cli-process.ts'
import { beforeEachOpen } from '../kit/opened.ts'

jest.setTimeout(WITHIN_MS)

let cli: Cli
beforeEachOpen((own) => (cli = own(new Cli())))

/** Loads a config that does this first. */
function load(text: string, env: Readonly<Record<string, string>> = {}, name = 'host.mjs'): Promise<CliRun> {
  const file = cli.file(name, `export { default } from ${JSON.stringify(compiled('test/cli/odd.config.ts'))}\n${text}`)
  return cli.run(['inspect', 'odd', 'id', '--config', file], { env, cwd: cli.dir })
}

const PID = 'console.log(`in ${process.pid}`)'
const pidOf = ({ stderr }: CliRun): string | undefined => /in (\d+)/.exec(stderr)?.[1]

describe('commands in one process', () => {
  it('end and print as in a process for each', async () => {
    for (const args of [['--help'], ['frobnicate'], ['size', '--rate', '9'], ['inspect', 'sms-sender', 'parked']]) {
      const env = { CONSUME_ONCE_CONFIG: 'test/cli/orders.config.ts' }
      expect(await cli.run(args, { env })).toEqual(await cli.run(args, { ...AS_PROCESS, env }))
    }
  })

  it.each(['mjs', 'ts'])('load a config anew, where it is, with the environment of each: %s', async (extension) => {
    const tell = `console.log(process.env.TEST_WORD, process.cwd())\n${PID}`
    const one = await load(tell, { TEST_WORD: 'one' }, `c.${extension}`)
    expect(one).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(`one ${cli.dir}\n`) })
    const two = await load(`console.log('changed')\n${tell}`, {}, `c.${extension}`)
    expect(two.stderr).toContain(`changed\nundefined ${cli.dir}\n`)
    expect(pidOf(two)).toBe(pidOf(one))
  })

  it.each([
    ['a timer', 'setInterval(() => {}, 1_000)'],
    ['a listener', "process.on('SIGTERM', () => {})"],
    ['a server', "const net = await import('node:net')\nnet.createServer().listen(0)"],
  ])('end the process with what one leaves behind: %s', async (_, text) => {
    const left = await load(`${PID}\n${text}`)
    expect(left).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('absent') })
    expect(pidOf(await load(PID))).not.toBe(pidOf(left))
  })

  it('end as one does that ends the process, with all that it said', async () => {
    const exit = await load(`${PID}\nprocess.exit(7)`)
    expect(exit).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('in ') })
    expect(await load('process.kill(process.pid, "SIGKILL")')).toMatchObject({ exitCode: null })
    expect(await load(PID)).toMatchObject({ exitCode: 0 })
  })

  it('run in two where they run at once', async () => {
    const both = await Promise.all([load(PID, {}, 'a.mjs'), load(PID, {}, 'b.mjs')])
    expect(new Set(both.map(pidOf)).size).toBe(2)
  })
})
