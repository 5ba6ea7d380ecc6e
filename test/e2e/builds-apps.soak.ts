/** Projects as people have them, built of a zip with packages from PyPI and npm, and asked over HTTP. */
import t from 'tap'
import { ask, send, statuses, until } from '../support/builds.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { zipOf } from '../support/zip.ts'

skipFile(whyNoMachines())

/** What a box in a network of its own has to be told, as its operator tells it. */
const authorities = process.env['SSL_CERT_FILE']
const s = await server(t, authorities ? { HUTCH_CA_FILE: authorities } : {})
const port = 8_000

const flask = {
  'requirements.txt': 'flask\n',
  'app.py':
    'from flask import Flask\napp = Flask(__name__)\n\n@app.get("/")\ndef hello():\n    return "hello from Flask"\n',
}
const fastapi = {
  'pyproject.toml': '[project]\nname = "api"\nversion = "1"\ndependencies = ["fastapi", "uvicorn"]\n',
  'main.py':
    'from fastapi import FastAPI\napi = FastAPI()\n\n@api.get("/")\ndef hello():\n    return "hello from FastAPI"\n',
}
const express = {
  'package.json': JSON.stringify({
    name: 'web',
    dependencies: { express: '*' },
    scripts: { build: 'echo built >built', start: 'node server.js' },
  }),
  'server.js':
    "const app = require('express')()\napp.get('/', (_, answer) => answer.send('hello from Express ' + require('fs').readFileSync('built')))\napp.listen(process.env.PORT, process.env.HOST)\n",
}
const apps: Readonly<Record<string, readonly [Record<string, string>, RegExp]>> = {
  flask: [flask, /hello from Flask/],
  fastapi: [fastapi, /"hello from FastAPI"/],
  express: [express, /hello from Express built/],
}

for (const [name, [files, says]] of Object.entries(apps))
  t.test(name, async t => {
    const envs = [
      { name: 'PORT', value: String(port) },
      { name: 'HOST', value: '0.0.0.0' },
    ]
    const spec = { runtime: { memory: 1024, entrypoint: true, envs, ports: [{ target: port }] } }
    const asked = await ask(s, 'POST', '/v0/sandboxes?upload=true', { metadata: { name }, spec })
    t.equal(await send(asked.url, zipOf(files)), 200)
    const begun = performance.now()
    const body = await until(s, `/v0/sandboxes/${name}`, one => ['DEPLOYED', 'FAILED'].includes(one.status), 600_000)
    const log = (await s.call('GET', `/v0/builds/sandbox/${name}/log`)).text
    t.same(statuses(body), ['UPLOADING', 'BUILDING', 'DEPLOYING', 'DEPLOYED'], `${JSON.stringify(body.events)} ${log}`)
    t.comment(`${name}: ${Math.round((performance.now() - begun) / 1000)} s`)
    const command = `for i in $(seq 100); do curl -sf http://127.0.0.1:${port}/ && exit 0; sleep 0.2; done; exit 1`
    const { body: ran } = await s.call('POST', `/default/sandboxes/${name}/process`, {
      command,
      waitForCompletion: true,
    })
    t.match(ran.logs, says)
  })
