import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { needProgram, run } from '../commands.ts'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const USUAL_MIRROR = 'http://deb.debian.org/debian'
const SOURCES = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']

/** Runs `apt-get` with these words; what it downloads by itself goes to the folder that it was made for. */
export type Apt = (...words: readonly string[]) => Promise<void>

/** @throws Error what is missing for `aptAside` */
export function needApt(): void {
  for (const program of ['apt-get', 'dpkg-deb']) needProgram(program)
  if (!existsSync(KEYRING)) throw new Error(`no ${KEYRING} (package debian-archive-keyring)`)
}

/**
 * An apt for one suite of Debian, its lists fetched, that keeps all it knows in the folder `aside`: it knows nothing of the
 * machine's packages, sources and lists, and leaves them alone.
 */
export async function aptAside(suite: string, aside: string): Promise<Apt> {
  for (const folder of ['lists/partial', 'archives/partial']) mkdirSync(join(aside, folder), { recursive: true })
  writeFileSync(join(aside, 'status'), '')
  const source = [`Types: deb`, `URIs: ${mirror()}`, `Suites: ${suite}`, 'Components: main', `Signed-By: ${KEYRING}`]
  writeFileSync(join(aside, 'debian.sources'), `${source.join('\n')}\n`)
  writeFileSync(join(aside, 'apt.conf'), settings(aside))
  const apt: Apt = async (...words) => {
    await run('apt-get', ['-q', '-y', '-c', join(aside, 'apt.conf'), ...words], {
      timeoutMs: 600_000,
      cwd: join(aside, 'archives'),
      env: process.env,
    }).catch((cause: Error) => {
      throw new Error(`Debian ${suite} was not fetched from ${mirror()}: ${cause.message}`, { cause })
    })
  }
  await apt('update')
  return apt
}

function settings(aside: string): string {
  const values = {
    'Dir::Etc::SourceList': join(aside, 'debian.sources'),
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::Etc::Preferences': '/dev/null',
    'Dir::Etc::PreferencesParts': '/dev/null',
    'Dir::State': aside,
    'Dir::State::Lists': join(aside, 'lists'),
    'Dir::State::Status': join(aside, 'status'),
    'Dir::Cache': aside,
    'Dir::Cache::Archives': join(aside, 'archives'),
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'APT::Update::Post-Invoke': '',
    'APT::Update::Post-Invoke-Success': '',
  }
  const lines = Object.entries(values).map(([name, value]) => `${name} "${value}";\n`)
  return lines.join('')
}

/** That of the machine, which may be one that can be reached from here. */
function mirror(): string {
  const lines = SOURCES.filter((file) => existsSync(file)).flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  const urls = lines.flatMap((line) => /^(?:URIs:|deb)\s.*?(https?:\S+)/.exec(line)?.[1] ?? [])
  return urls.find((url) => basename(url) === 'debian') ?? USUAL_MIRROR
}
