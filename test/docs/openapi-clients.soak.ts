/**
 * The documents of both APIs in the hands of tools that read them: two linters find nothing, and clients that two generators make walk
 * from a sandbox's making to its end. What they need comes from npm and PyPI, into a folder of its own.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const home = join(root, '.runtime/openapi-clients')
const here = join(root, 'test/docs/openapi-clients')
const python = join(home, 'venv/bin/python')
const packages = ['@redocly/cli@2', 'openapi-typescript@7', 'openapi-fetch@0.14', 'typescript@5']
const wheels = ['openapi-spec-validator', 'openapi-python-client', 'ruff']

const install = (): string | undefined => {
  if (existsSync(join(home, 'ready'))) return undefined
  try {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{"private":true,"type":"module"}')
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], { cwd: home })
    execFileSync('python3', ['-m', 'venv', join(home, 'venv')])
    execFileSync(join(home, 'venv/bin/pip'), ['install', '-q', ...wheels])
    writeFileSync(join(home, 'ready'), '')
    return undefined
  } catch (error) {
    return `npm and PyPI are needed: ${String(error)}`
  }
}

skipFile(whyNoMachines() ?? install())

const env = { ...process.env, PATH: `${join(home, 'venv/bin')}:${process.env['PATH']}`, REDOCLY_TELEMETRY: 'off' }
const run = (file: string, args: readonly string[], more: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(file, args, { cwd: home, env: { ...env, ...more }, encoding: 'utf8' })
  return { status, said: `${stdout}${stderr}` }
}
const tool = (name: string, ...args: string[]) => run(join(home, 'node_modules/.bin', name), args)

const names = ['management', 'sandbox'] as const

t.test('documents, and clients made from them', async t => {
  const s = await server(t)
  const spec = { runtime: { image: 'svc/busybox:latest', memory: 256 } }
  const made = await s.call('POST', '/v0/sandboxes', { metadata: { name: 'docs' }, spec })
  const documents = {
    management: (await s.call('GET', '/v0/openapi.json')).body,
    sandbox: (await s.call('GET', `${made.body.metadata.url}/swagger/openapi.json`)).body,
  }
  // The addresses are those of the contract: a name and a fixed word share a place.
  writeFileSync(join(home, 'redocly.yaml'), 'extends:\n  - recommended\nrules:\n  no-ambiguous-paths: off\n')
  for (const name of names) {
    const file = join(home, `${name}.json`)
    writeFileSync(file, JSON.stringify(documents[name]))
    const linted = tool('redocly', 'lint', '--config', 'redocly.yaml', '--format=json', file)
    t.same(JSON.parse(linted.said.slice(linted.said.indexOf('{'), linted.said.lastIndexOf('}') + 1)).totals, {
      errors: 0,
      warnings: 0,
      ignored: 0,
    })
    t.equal(run(join(home, 'venv/bin/openapi-spec-validator'), [file]).status, 0, `${name}: openapi-spec-validator`)
    // What has a default may be left out.
    const types = ['--default-non-nullable', 'false', '-o', `${name}.d.ts`]
    t.equal(tool('openapi-typescript', file, ...types).status, 0, `${name}: openapi-typescript`)
    rmSync(join(home, `${name}_client`), { recursive: true, force: true })
    const generated = run(join(home, 'venv/bin/openapi-python-client'), [
      'generate',
      '--path',
      file,
      '--output-path',
      `${name}_client`,
      '--meta',
      'none',
    ])
    t.equal(generated.status, 0, generated.said)
  }
  const where = { HUTCH_URL: s.url, HUTCH_KEY: s.key }

  await t.test('TypeScript', async t => {
    writeFileSync(join(home, 'walk.ts'), readFileSync(join(here, 'walk.ts')))
    const strict = ['--strict', '--noEmit', '--module', 'nodenext', '--skipLibCheck', '--target', 'es2023']
    const checked = tool('tsc', ...strict, 'walk.ts')
    t.equal(checked.status, 0, checked.said)
    const walked = run(process.execPath, ['walk.ts'], where)
    t.equal(walked.status, 0, walked.said)
    t.match(walked.said, /gone/)
  })

  await t.test('Python', async t => {
    writeFileSync(join(home, 'walk.py'), readFileSync(join(here, 'walk.py')))
    const walked = run(python, ['walk.py'], where)
    t.equal(walked.status, 0, walked.said)
    t.match(walked.said, /gone/)
  })
})
