/** What is called by name is built of uploads, one after the other: what served before goes on until the next one is ready, or for good. */
import t from 'tap'
import { ask, send, statuses, until } from '../support/builds.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { zipOf } from '../support/zip.ts'

skipFile(whyNoMachines())

const s = await server(t)
const site = (text: string, more = '') =>
  zipOf({
    Dockerfile: `FROM busybox\nCOPY index.html /www/\n${more}\nCMD ["sh", "-c", "exec httpd -f -p $PORT -h /www"]\n`,
    'index.html': text,
  })

for (const [plural, spec] of [
  ['agents', { runtime: { memory: 256 } }],
  ['functions', { runtime: { memory: 256 } }],
  ['applications', { memory: 256 }],
] as const)
  t.test(plural, async t => {
    const path = `/v0/${plural}/site`
    const body = { metadata: { name: 'site' }, spec }
    const called = async () => (await s.call('GET', `/default/${plural}/site/`)).text
    const ended = () => until(s, path, one => ['DEPLOYED', 'FAILED'].includes(one.status))
    const first = await ask(s, 'POST', `/v0/${plural}?upload=true`, body)
    t.match(first, { status: 200, body: { status: 'UPLOADING' } })
    t.equal(await send(first.url, site('one')), 200)
    const deployed = await ended()
    t.same(statuses(deployed), ['UPLOADING', 'BUILDING', 'DEPLOYING', 'DEPLOYED'], JSON.stringify(deployed.events))
    t.equal(await called(), 'one')

    const second = await ask(s, 'PUT', `${path}?upload=true`, body)
    t.equal(second.body.status, 'UPLOADING')
    t.equal(await called(), 'one', 'while the next is waited for')
    t.equal(await send(second.url, site('two')), 200)
    t.equal(await called(), 'one', 'while the next is built')
    t.equal((await ended()).status, 'DEPLOYED')
    t.equal(await called(), 'two')

    const third = await ask(s, 'PUT', `${path}?upload=true`, body)
    t.equal(await send(third.url, site('three', 'RUN exit 3')), 200)
    t.equal((await ended()).status, 'FAILED')
    t.equal(await called(), 'two', 'what served goes on')
  })
