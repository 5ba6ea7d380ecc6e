/** Projects for Node without a Dockerfile. */
import { fail, messageOf } from '../../../../shared/errors.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'
import type { Archive } from '../archive/zip.ts'
import { dockerfile, secretRun, shellCommand } from './dockerfile.ts'
import type { Recognised, Surroundings } from './recognise.ts'

const shape = s.looseObject({
  main: s.optional(s.string()),
  scripts: s.optional(s.record(s.string(), s.string())),
})
type Package = Out<typeof shape>

const read = (text: string): Package => {
  try {
    return parse(shape, JSON.parse(text), 'config')
  } catch (error) {
    throw fail('unprocessable', { reason: `package.json: ${messageOf(error)}` }, error)
  }
}

/** Lock files, and what installs by each. */
const installers: Readonly<Record<string, string>> = {
  'package-lock.json': 'npm ci',
  'pnpm-lock.yaml': 'npx --yes pnpm@10 install --frozen-lockfile',
  'yarn.lock': 'npx --yes yarn@1 install --frozen-lockfile',
}

const mains = ['index.js', 'server.js', 'app.js', 'index.mjs', 'server.mjs', 'src/index.js', 'src/server.js']

const isThere = (archive: Archive, name: string): boolean => archive.entries.get(name)?.type === 'file'

const startOf = (archive: Archive, { main, scripts = {} }: Package): string => {
  const script = ['prod', 'start', 'dev'].find(name => scripts[name] !== undefined)
  if (script) return `exec npm run --silent ${script}`
  const file = [...(main ? [main.replace(/^\.\//, '')] : []), ...mains].find(name => isThere(archive, name))
  if (file) return `exec node ${JSON.stringify(file)}`
  throw fail('unprocessable', {
    reason:
      'nothing says how this Node project is started: give package.json a script "start", write entrypoint.prod into svc.toml, or add a Dockerfile',
  })
}

export const recogniseNode = async (
  archive: Archive,
  { base, start }: Surroundings,
): Promise<Recognised | undefined> => {
  const text = await archive.text('package.json')
  if (text === undefined) return undefined
  const described = read(text)
  const lock = Object.keys(installers).find(name => isThere(archive, name))
  const copied = ['package.json', ...(lock ? [lock] : []), ...(isThere(archive, '.npmrc') ? ['.npmrc'] : [])]
  return {
    language: 'node',
    added: {},
    dockerfile: dockerfile([
      `FROM ${base}`,
      'WORKDIR /app',
      `COPY ${JSON.stringify([...copied, './'])}`,
      secretRun(installers[lock ?? ''] ?? 'npm install'),
      'COPY . .',
      described.scripts?.['build'] === undefined ? undefined : secretRun('npm run build'),
      'ENV NODE_ENV=production',
      shellCommand(start ?? startOf(archive, described)),
    ]),
  }
}
