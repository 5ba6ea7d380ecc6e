/** Which projects are recognised without a Dockerfile, and what of a Dockerfile is read here. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openZip } from '../../../../control/core/builds/archive/zip.ts'
import { basesOf, inEveryStage } from '../../../../control/core/builds/recognise/bases.ts'
import { recipeOf } from '../../../../control/core/builds/recognise/recognise.ts'
import { zipOf } from '../../../support/zip.ts'

const recipe = async (t: { testdir(): string }, files: Record<string, string>) => {
  const file = join(t.testdir(), 'a.zip')
  writeFileSync(file, zipOf(files))
  const archive = await openZip(file, { maxBytes: 1_000_000, maxEntries: 100 })
  try {
    return await recipeOf(archive, { base: 'base', settings: ['svc.toml'] })
  } finally {
    archive.close()
  }
}

t.test('Python, by each of its files', async t => {
  const flask = 'from flask import Flask\napp = Flask(__name__)\n'
  t.match(await recipe(t, { 'requirements.txt': 'flask', 'main.py': flask }), {
    by: 'python',
    dockerfile:
      /FROM base[^]*COPY \["requirements.txt",".\/"\][^]*pip install -r requirements.txt[^]*COPY \. \.[^]*flask --app main:app run/,
  })
  const project = {
    'pyproject.toml': '[project]\ndependencies = ["fastapi", "uvicorn"]\n',
    'src/app.py': 'api = FastAPI()\n',
  }
  const pyproject = await recipe(t, project)
  t.match(pyproject, { dockerfile: /uvicorn src\.app:api/, added: { '.hutch-requirements.txt': 'fastapi\nuvicorn\n' } })
  t.match(await recipe(t, { ...project, 'uv.lock': 'version = 1' }), { dockerfile: /uv export --frozen/ })
  t.match(await recipe(t, { 'pyproject.toml': '[build-system]\n', 'main.py': 'print(1)' }), {
    dockerfile: /COPY \. \.\nRUN [^]*pip install \.\nCMD \["\/bin\/sh","-c","exec python main.py"\]/,
  })
  await t.rejects(recipe(t, { 'requirements.txt': '' }), { message: /nothing says how this Python project is started/ })
  await t.rejects(recipe(t, { 'pyproject.toml': 'a = ' }), { code: 'unprocessable', message: /^pyproject\.toml: / })
})

t.test('Node, by package.json', async t => {
  t.match(await recipe(t, { 'package.json': '{"scripts":{"build":"b","start":"s"}}', 'package-lock.json': '{}' }), {
    by: 'node',
    dockerfile:
      /COPY \["package.json","package-lock.json",".\/"\][^]*npm ci[^]*COPY \. \.[^]*npm run build[^]*exec npm run --silent start/,
  })
  t.match(await recipe(t, { 'package.json': '{"main":"./lib.js"}', 'lib.js': '' }), {
    dockerfile: /npm install[^]*exec node \\"lib.js\\"/,
  })
  t.match(await recipe(t, { 'package.json': '{}', 'pnpm-lock.yaml': '', 'index.js': '' }), {
    dockerfile: /pnpm@10 install/,
  })
  await t.rejects(recipe(t, { 'package.json': '{}' }), { message: /nothing says how this Node project is started/ })
  await t.rejects(recipe(t, { 'package.json': '{' }), { code: 'unprocessable', message: /^package\.json: / })
})

t.test('a Dockerfile goes first; svc.toml and .env.build have effect', async t => {
  const found = await recipe(t, {
    Dockerfile: 'FROM x',
    'package.json': '{}',
    'svc.toml': '[build.args]\nA = "1"\nB = 2\n[entrypoint]\nprod = "serve"\n',
    '.env.build': '# a comment\nTOKEN="a b"\nexport PLAIN=x=y\n',
  })
  t.match(found, {
    by: 'Dockerfile',
    dockerfile: 'FROM x',
    args: { A: '1', B: '2' },
    secrets: { TOKEN: 'a b', PLAIN: 'x=y' },
  })
  t.ok(found.without.has('.env.build'))
  t.match(await recipe(t, { 'package.json': '{}', 'svc.toml': '[entrypoint]\nprod = "serve it"' }), {
    dockerfile: /CMD \["\/bin\/sh","-c","serve it"\]/,
  })
  await t.rejects(recipe(t, { Dockerfile: 'FROM x', 'svc.toml': '[build.args]\n"a-b" = "1"' }), {
    message: /svc\.toml: build\.args\.a-b/,
  })
  await t.rejects(recipe(t, { Dockerfile: 'FROM x', '.env.build': 'no' }), { message: /\.env\.build: line 1/ })
  await t.rejects(recipe(t, { x: '' }), { message: /no Dockerfile at its root/ })
})

t.test('what a Dockerfile begins with and copies from', t => {
  const text = [
    'ARG TAG=1.2',
    'ARG BASE',
    '# FROM comment',
    'FROM --platform=linux/amd64 tools:${TAG} AS Build',
    'RUN echo \\',
    '  FROM not-this',
    'FROM $BASE',
    'COPY --from=build /x /x',
    'COPY --from=other/image:1 /y /y',
    'RUN --mount=type=bind,from=third,target=/z true',
    'FROM scratch',
    'COPY --from=0 /x /x',
  ].join('\n')
  t.same(basesOf(text, { BASE: 'mine' }), ['tools:1.2', 'mine', 'other/image:1', 'third'])
  t.same(basesOf('FROM ${A:-busybox}', {}), ['busybox'])
  const lines = inEveryStage(text, 'ENV X=1').split('\n')
  t.same(
    lines.flatMap((line, at) => (line === 'ENV X=1' ? [lines[at - 1]] : [])),
    ['FROM --platform=linux/amd64 tools:${TAG} AS Build', 'FROM $BASE', 'FROM scratch'],
  )
  t.end()
})
