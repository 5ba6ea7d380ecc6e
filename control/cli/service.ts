/** `hutch service`: a unit of systemd for a server like the one that this environment would run. */
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { installation } from '../../shared/installation.ts'
import { reasonOf } from '../../shared/system-reason.ts'
import { loadConfig } from '../base/config.ts'
import { misuse, type Invocation } from './command.ts'

/** As systemd reads it: `%` and `$` mean something to it, quotes hold words together. */
const quoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`

/** Of a command line alone, where variables are put in. */
const word = (text: string): string => quoted(text).replaceAll('$', '$$$$')

const program = (): string[] =>
  installation.kind === 'checkout'
    ? [process.execPath, join(installation.root, 'control/main.ts')]
    : [process.execPath, join(installation.root, 'dist/hutch.cjs')]

const unitOf = (dataDir: string, variables: Readonly<Record<string, string>>): string => `[Unit]
Description=Hutch: sandboxes for agents, data in ${dataDir.replaceAll('%', '%%')}
Wants=network-online.target
After=network-online.target local-fs.target
RequiresMountsFor=${quoted(dirname(dataDir))}
# However often it ends by itself: five times in ten seconds would be the end of it otherwise.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${[...program(), 'run'].map(word).join(' ')}
WorkingDirectory=${installation.root.replaceAll('%', '%%')}
${Object.entries(variables)
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`)
  .join('\n')}
# SIGTERM to the server alone: its sandboxes run on, and the next start adopts them.
KillMode=process
KillSignal=SIGTERM
TimeoutStopSec=60
Restart=on-failure
RestartSec=1
# A sandbox that is killed for its memory is no reason to stop the others.
OOMPolicy=continue
OOMScoreAdjust=-900
LimitNOFILE=1048576
# What it has opened of sealed secrets is in its memory: no dump of that.
LimitCORE=0
TasksMax=infinity

[Install]
WantedBy=multi-user.target
`

/**
 * Where Node keeps what it has compiled of a checkout. A server that finds its sources there does not load what strips their types: 9 to
 * 16 MB less, and 0.6 of the processor time of a start (by turns).
 */
const compiled = (): Record<string, string> =>
  installation.kind === 'checkout' ? { NODE_COMPILE_CACHE: join(installation.root, '.runtime/compiled') } : {}

/** The variables of this environment that a server reads, the data directory by its whole path. */
const variablesOf = (env: Invocation['env'], dataDir: string): Record<string, string> => {
  const named = Object.entries(env).filter(([name, value]) => name.startsWith('HUTCH_') && value !== undefined)
  return { ...(Object.fromEntries(named) as Record<string, string>), HUTCH_DATA_DIR: dataDir, ...compiled() }
}

export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  const [to, ...more] = words
  if (more.length > 0) throw misuse('service takes the file to be written, or nothing; see hutch service --help')
  const { dataDir } = loadConfig(env, cwd)
  const unit = unitOf(dataDir, variablesOf(env, dataDir))
  if (to === undefined) {
    say(unit.trimEnd())
    return 0
  }
  const path = resolve(cwd, to)
  await writeFile(path, unit, { mode: 0o644, flag: 'wx' }).catch((error: unknown) => {
    throw misuse(`${path} cannot be written: ${reasonOf(error)}`)
  })
  say(`${path} is written; systemctl daemon-reload && systemctl enable --now ${path.split('/').at(-1)} starts it`)
  return 0
}
