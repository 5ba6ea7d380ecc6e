/** Where a value can be read that nobody is to read: all that a server answers, writes down and is started with. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import type { Server } from './server.ts'

/** The value as it is, in hex, and in base64 wherever it begins in a longer text. */
const formsOf = (value: string): string[] => [
  value,
  Buffer.from(value).toString('hex'),
  ...[0, 1, 2].map(before =>
    Buffer.from(`${' '.repeat(before)}${value}`)
      .toString('base64')
      .slice(4, -4),
  ),
]

/** All that it answers about a sandbox to who may see everything. */
const answersOf = async ({ call }: Server, sandbox: string): Promise<[string, Buffer][]> => {
  const { paths } = (await call('GET', '/v0/openapi.json')).body as { paths: Record<string, { get?: object }> }
  const answers: [string, Buffer][] = []
  for (const [path, { get }] of Object.entries(paths)) {
    if (!get) continue
    for (const query of ['', '?show_secrets=true&limit=1000&detail=method']) {
      const target = `${path.startsWith('/v0') ? '' : '/v0'}${path.replaceAll(/\{[^}]+\}/g, sandbox)}${query}`
      answers.push([`GET ${target}`, Buffer.from((await call('GET', target)).text)])
    }
  }
  answers.push(['GET /metrics', Buffer.from((await call('GET', '/metrics')).text)])
  return answers
}

const filesBelow = (dir: string): [string, Buffer][] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(path => statSync(path).size < 256 * 1024 * 1024)
    .map(path => [path, readFileSync(path)])

/** What any process on this box shows of how it was started. */
const processes = (): [string, Buffer][] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap(pid =>
      ['cmdline', 'environ'].flatMap((file): [string, Buffer][] => {
        try {
          return [[`/proc/${pid}/${file}`, readFileSync(`/proc/${pid}/${file}`)]]
        } catch {
          // It has ended since.
          return []
        }
      }),
    )

const backupOf = async ({ dataDir }: Server, within: readonly string[]): Promise<[string, Buffer]> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-places-'))
  try {
    const path = join(dir, 'backup.tar')
    const { code, error } = await runCommand(['backup', path], { HUTCH_DATA_DIR: dataDir }, within)
    if (code !== 0) throw new Error(error)
    return ['backup', readFileSync(path)]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Looks everywhere for the values; `within` is the command that the server was started with. How many places there are, and which have one. */
export const placesWith = async (
  server: Server,
  sandbox: string,
  values: readonly string[],
  within: readonly string[],
): Promise<{ looked: number; found: string[] }> => {
  const forms = values.flatMap(formsOf)
  const places = [
    ...(await answersOf(server, sandbox)),
    ['log', Buffer.from(server.output())] as const,
    ...filesBelow(server.dataDir),
    ...processes(),
    await backupOf(server, within),
  ]
  const found = places.filter(([, bytes]) => forms.some(form => bytes.includes(form))).map(([place]) => place)
  return { looked: places.length, found }
}
