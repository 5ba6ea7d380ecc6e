/** From a zip to an image and to what runs of it: through the real server, in a real builder. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { ask, send, statuses, until } from '../support/builds.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { zip, zipOf } from '../support/zip.ts'

skipFile(whyNoMachines())

const s = await server(t)
/** Archives that are kept; each goes when its build has ended. */
const uploads = async () => {
  const kept = () => readdirSync(join(s.dataDir, 'builds', 'uploads'))
  for (let tries = 0; tries < 100 && kept().length > 0; tries++) await new Promise(resolve => setTimeout(resolve, 20))
  return kept()
}
const app = {
  Dockerfile: [
    'FROM busybox AS tools',
    'RUN mkdir /made && echo tool >/made/tool',
    'FROM busybox',
    'ARG GREETING=nobody',
    'WORKDIR /srv',
    'COPY --from=tools /made/tool ./tool',
    'COPY . .',
    'RUN --mount=type=secret,id=TOKEN test "$(cat /run/secrets/TOKEN)" = hush && echo "$GREETING" >greeting',
    'ENV COLOR=blue',
    'CMD ["sh", "-c", "echo started; exec sleep 1000"]',
  ].join('\n'),
  'svc.toml': '[build.args]\nGREETING = "hello"\n',
  '.env.build': 'TOKEN="hush"\n',
  '.dockerignore': 'notes\n',
  notes: 'not for the image',
  'data.txt': 'data',
}

t.test('an image of the host gets a name of the workspace', async t => {
  const made = await s.call('POST', '/v0/images?skip-build=true', {
    name: 'tiny',
    resourceType: 'sandbox',
    image: 'busybox',
  })
  t.match(made, {
    status: 200,
    body: { name: 'tiny', resourceType: 'sandbox', image: 'sandbox/tiny:latest', build: false },
  })
  const image = await until(s, '/v0/images/sandbox/tiny', body => body.metadata?.status === 'BUILT')
  t.match(image.spec.tags.map(({ name }: { name: string }) => name).includes('latest'), true)
  const refused = await s.call('POST', '/v0/images', { name: 'none', resourceType: 'sandbox', image: 'no-such-image' })
  t.match(refused, { status: 400, body: { message: /no-such-image/ } })
  t.equal((await s.call('GET', '/v0/images/sandbox/none')).status, 404, 'nothing is left of it')
})

t.test('a sandbox is built of a zip: build arguments, secrets, ignored files, stages', async t => {
  const asked = await ask(s, 'POST', '/v0/sandboxes?upload=true', {
    metadata: { name: 'web' },
    spec: { runtime: { memory: 256 } },
  })
  t.match(asked, { status: 200, body: { status: 'UPLOADING' }, url: /\/v0\/uploads\// })
  t.equal(await send(asked.url, zipOf(app)), 200)
  t.equal(await send(asked.url, zipOf(app)), 409, 'an address is good once')
  const log = await fetch(new URL('/v0/builds/sandbox/web/log?follow=true', s.url), {
    headers: { authorization: `Bearer ${s.key}` },
  })
  const said = await log.text()
  t.match(said, /STEP .*FROM busybox[^]*COMMIT[^]*image sandbox\/web:[a-z0-9]{12} is built/)
  const body = await until(s, '/v0/sandboxes/web', one => one.status === 'DEPLOYED' || one.status === 'FAILED')
  t.same(statuses(body), ['UPLOADING', 'BUILDING', 'DEPLOYING', 'DEPLOYED'], JSON.stringify(body.events))
  t.match(body.spec.runtime.image, /^sandbox\/web:[a-z0-9]{12}$/)
  const command =
    'cat greeting tool data.txt; echo $COLOR; ls -a; grep -r hush / --include=* -s -l 2>/dev/null | grep -v ^/proc | head -3'
  const { body: ran } = await s.call('POST', '/default/sandboxes/web/process', { command, waitForCompletion: true })
  t.match(ran.logs, /^hello\ntool\ndatablue\n/)
  t.notMatch(ran.logs, 'notes')
  t.notMatch(ran.logs, '.env.build')
  t.notMatch(ran.logs, /^\/(?!proc)/m, 'the secret is nowhere in the image')
  t.match(await s.call('GET', '/v0/images/sandbox/web'), {
    body: { metadata: { status: 'BUILT' }, spec: { tags: [{}, {}] } },
  })
  t.match(await s.call('DELETE', '/v0/images/sandbox/web'), { status: 400, body: { message: /in use by sandbox web/ } })
  t.same(await uploads(), [])
})

t.test('a build that fails says why, and a later one of the same sandbox uses the layers of before', async t => {
  const failing = { ...app, Dockerfile: app.Dockerfile.replace('ENV COLOR=blue', 'RUN echo no such luck >&2; exit 7') }
  const asked = await ask(s, 'PUT', '/v0/sandboxes/web?upload=true', {
    metadata: { name: 'web' },
    spec: { runtime: { memory: 256 } },
  })
  t.equal(asked.body.status, 'UPLOADING')
  t.equal(await send(asked.url, zipOf(failing)), 200)
  const body = await until(s, '/v0/sandboxes/web', one => one.status === 'FAILED')
  t.match(body.events.at(-1).message, /the build failed: .*no such luck.*exit status 7/)
  const log = await s.call('GET', '/v0/builds/sandboxes/web/log')
  t.match(log.text, 'Using cache')
})

/** Sends less than it says, and is gone. */
const cut = (url: string) =>
  new Promise<void>(resolve => {
    const headers = { 'content-type': 'application/zip', 'content-length': '1000' }
    const sending = request(url, { method: 'PUT', headers })
    sending.on('error', () => resolve())
    sending.write('PK', () => setTimeout(() => sending.destroy(), 100))
  })

t.test('an upload that is cut, too large or at a forged address leaves nothing', async t => {
  const place = async (name: string) => {
    const asked = await ask(s, 'POST', '/v0/agents?upload=true', { metadata: { name }, spec: {} })
    t.equal(asked.body.status, 'UPLOADING')
    return asked.url
  }
  const broken = async (name: string, why: RegExp) => {
    const body = await until(s, `/v0/agents/${name}`, one => one.status === 'FAILED')
    t.match(body.events.at(-1).message, why)
  }
  await cut(await place('cut'))
  await broken('cut', /the upload failed: .*the upload was cut off/)
  const large = request(await place('large'), { method: 'PUT', headers: { 'content-length': String(2 ** 40) } })
  large.flushHeaders()
  const [answer] = (await once(large, 'response')) as [{ statusCode: number }]
  t.equal(answer.statusCode, 413)
  large.destroy()
  await broken('large', /larger than \d+ bytes/)
  const url = await place('forged')
  const signed = url.lastIndexOf('.') + 5
  const other = url[signed] === 'A' ? 'B' : 'A'
  t.equal(await send(`${url.slice(0, signed)}${other}${url.slice(signed + 1)}`, zipOf({})), 403)
  t.equal(await send(`${s.url}/v0/uploads/e30.e30`, zipOf({})), 403)
  t.equal((await s.call('GET', '/v0/agents/forged')).body.status, 'UPLOADING')
  t.equal((await s.call('DELETE', '/v0/agents/forged')).status, 200)
  t.equal(await send(url, zipOf({ Dockerfile: 'FROM busybox' })), 404, 'its record is gone')
  t.same(await uploads(), [])
})

t.test('what cannot be built ends FAILED, says why and leaves nothing', async t => {
  const cases: [string, Buffer, RegExp][] = [
    [
      'escape',
      zip([{ name: '../../etc/cron.d/x', content: 'x' }]),
      /entry "\.\.\/\.\.\/etc\/cron\.d\/x" of the archive leads out/,
    ],
    ['noway', zipOf({ 'readme.txt': 'hi' }), /has no Dockerfile at its root/],
    ['nozip', Buffer.from('no zip at all, but long enough to be read as one'), /is no zip that can be read/],
  ]
  for (const [name, archive, why] of cases) {
    const asked = await ask(s, 'POST', '/v0/agents?upload=true', { metadata: { name }, spec: {} })
    t.equal(await send(asked.url, archive), 200)
    const body = await until(s, `/v0/agents/${name}`, one => one.status === 'FAILED')
    t.match(body.events.at(-1).message, why)
  }
  t.same(await uploads(), [])
})
