/** Sections 1.3 and 1.6: path forms, files as JSON, forms and downloads, directories, trees. */
import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { ask, clientUpload, component, escaped, form, fresh, type Target } from './target.ts'

const types: Record<string, string> = {
  txt: 'text/plain',
  log: 'text/plain',
  json: 'application/json',
  html: 'text/html',
  htm: 'text/html',
  js: 'application/javascript',
  css: 'text/css',
  bin: 'application/octet-stream',
  pdf: 'application/pdf',
  zip: 'application/zip',
  tar: 'application/x-tar',
  gz: 'application/gzip',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  svg: 'image/svg+xml',
  xml: 'application/xml',
  TXT: 'application/octet-stream',
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const paths = async (t: Test, target: Target): Promise<void> => {
  const { workdir, scratch } = target
  const read = async (path: string) => (await ask(target, 'GET', path)).body?.content
  const write = (path: string, content: string) => ask(target, 'PUT', path, { body: { content } })
  const name = fresh('path')

  await t.test('one file by every form of its address', async t => {
    const file = `${scratch}/${name}.txt`
    t.match(await write(escaped('filesystem', file), 'one'), { status: 200, body: { message: /success/ } })
    for (const form of [escaped('filesystem', file), component('filesystem', file), `/filesystem/${file}`])
      t.equal(await read(form), 'one', form)
    t.equal(await read(`/filesystem/%2f${file.slice(1)}`), 'one', 'lower-case escapes')
    t.equal((await ask(target, 'GET', escaped('filesystem', file))).body.path, file)
  })

  await t.test('a bare name is in the working directory', async t => {
    await write(`/filesystem/${name}`, 'relative')
    t.equal(await read(component('filesystem', `${workdir}/${name}`)), 'relative')
    t.equal((await ask(target, 'DELETE', `/filesystem/${name}?recursive=false`)).status, 200)
  })

  await t.test('an escaped slash anywhere makes the path absolute, a plain one does not', async t => {
    const deep = `${scratch.slice(1)}/${name}-deep/a.txt`
    await write(`/filesystem/${encodeURIComponent(deep)}`, 'absolute')
    t.equal(await read(component('filesystem', `/${deep}`)), 'absolute')
    await write(`/filesystem/${name}-dir/a.txt`, 'below')
    t.equal(await read(component('filesystem', `${workdir}/${name}-dir/a.txt`)), 'below')
    t.equal((await ask(target, 'DELETE', `/filesystem/${name}-dir?recursive=true`)).status, 200)
  })

  await t.test('nothing, root and home', async t => {
    t.match(await ask(target, 'GET', '/filesystem/'), { status: 200, body: { path: workdir, files: Array } })
    const root = await ask(target, 'GET', '/filesystem/%2F')
    t.match(root, { status: 200, body: { path: '/' } })
    t.ok(root.body.subdirectories.some((entry: { path: string }) => entry.path === '/tmp'))
    t.match(await ask(target, 'GET', '/filesystem/~'), { status: 200, body: { subdirectories: Array } })
  })

  await t.test('what cannot be a path is refused and is no fault of the server', async t => {
    for (const path of ['/filesystem/a%00b', `/filesystem/${'x'.repeat(5_000)}`]) {
      const { status, body } = await ask(target, 'GET', path)
      t.ok(status >= 400 && status < 500, `${path.slice(0, 30)} is ${status}`)
      t.type(body.error, 'string')
    }
  })
}

const files = async (t: Test, target: Target): Promise<void> => {
  const dir = `${target.scratch}/${fresh('files')}`
  const at = (name: string) => escaped('filesystem', `${dir}/${name}`)
  const write = (name: string, content: string) => ask(target, 'PUT', at(name), { body: { content } })

  await t.test('a file and its directory, from nothing to nothing', async t => {
    t.match(
      await ask(target, 'PUT', escaped('filesystem', dir), { body: { isDirectory: true, permissions: '0755' } }),
      { status: 200, body: { path: dir, message: 'Directory created successfully' } },
    )
    t.match(await write('a.txt', 'hello'), { status: 200, body: { path: `${dir}/a.txt`, message: /success/ } })
    t.match((await ask(target, 'GET', at('a.txt'))).body, {
      path: `${dir}/a.txt`,
      permissions: '644',
      size: 5,
      lastModified: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/,
      owner: 'root',
      group: 'root',
      content: 'hello',
    })
    const list = (await ask(target, 'GET', escaped('filesystem', dir))).body
    t.match(list, { path: dir, name: dir.split('/').at(-1), subdirectories: [] })
    t.same(
      list.files.map((entry: { path: string; name: string; size: number }) => [entry.path, entry.name, entry.size]),
      [[`${dir}/a.txt`, 'a.txt', 5]],
    )
    t.match(await ask(target, 'DELETE', `${escaped('filesystem', dir)}?recursive=false`), { status: 422 })
    t.match(await ask(target, 'DELETE', at('a.txt')), { status: 200, body: { message: 'File deleted successfully' } })
    t.match(await ask(target, 'DELETE', at('a.txt')), { status: 404, body: { error: /not found/ } })
    t.equal((await ask(target, 'GET', at('a.txt'))).status, 404)
    t.match(await ask(target, 'PUT', at('d/e.txt'), { body: {} }), { status: 200 })
    t.match(await ask(target, 'DELETE', `${at('d')}?recursive=true`), {
      status: 200,
      body: { message: 'Directory deleted successfully' },
    })
  })

  await t.test('bad permissions and bodies change nothing', async t => {
    for (const permissions of ['0o644', 'rwx', '9'])
      t.equal((await ask(target, 'PUT', at('bad'), { body: { content: 'x', permissions } })).status, 400, permissions)
    t.match((await ask(target, 'PUT', at('bad'), { body: 'not json' })).body, { error: /^invalid request body/ })
    t.equal((await ask(target, 'PUT', at('bad'))).status, 400, 'no body')
    t.equal((await ask(target, 'GET', at('bad'))).status, 404)
    t.equal((await ask(target, 'PUT', at('plain/file'), { body: {} })).status, 200)
    t.equal((await ask(target, 'PUT', at('plain/file/x'), { body: {} })).status, 422, 'a file as a directory')
  })

  await t.test('what Accept asks for', async t => {
    await write('accept.txt', 'text')
    for (const accept of ['application/json', '*/*', 'text/html,application/xhtml+xml,*/*;q=0.8'])
      t.match((await ask(target, 'GET', at('accept.txt'), { headers: { accept } })).body, { content: 'text' }, accept)
    for (const accept of ['application/octet-stream', 'text/plain']) {
      const { text, headers } = await ask(target, 'GET', at('accept.txt'), { headers: { accept } })
      t.equal(text, 'text')
      t.match(headers['content-disposition'], 'attachment; filename="accept.txt"')
    }
    t.equal((await ask(target, 'GET', `${at('accept.txt')}?download=true`)).text, 'text')
    t.match((await ask(target, 'GET', `${at('accept.txt')}?download=1`)).body, { content: 'text' })
  })

  await t.test('a download says its type by the extension, exactly', async t => {
    for (const [extension, type] of Object.entries(types)) {
      await write(`f.${extension}`, 'content')
      const { headers, text } = await ask(target, 'GET', `${at(`f.${extension}`)}?download=true`)
      t.equal(headers['content-type'], type, extension)
      t.equal(headers['content-disposition'], `attachment; filename="f.${extension}"`)
      t.same([headers['content-length'], headers['accept-ranges'], text], ['7', 'bytes', 'content'])
    }
  })

  await t.test('ranges and conditions', async t => {
    await write('range.txt', '0123456789')
    const get = (headers: Record<string, string>) => ask(target, 'GET', `${at('range.txt')}?download=true`, { headers })
    t.match(await get({ range: 'bytes=2-4' }), { status: 206, text: '234' })
    t.equal((await get({ range: 'bytes=50-' })).status, 416)
    const modified = (await get({})).headers['last-modified'] ?? ''
    t.equal((await get({ 'if-modified-since': modified })).status, 304)
  })
}

const uploads = async (t: Test, target: Target): Promise<void> => {
  const dir = `${target.scratch}/${fresh('uploads')}`
  const at = (name: string) => `/filesystem/${dir}/${name}`

  await t.test('a form as clients send it: file, permissions, path', async t => {
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255, 10, 13, 0, 65, 66, 67])
    t.match(await ask(target, 'PUT', at('x.bin'), clientUpload(`${dir}/x.bin`, bytes)), {
      status: 200,
      body: { message: 'Binary file uploaded successfully' },
    })
    const { body } = await ask(target, 'GET', escaped('filesystem', `${dir}/x.bin`))
    t.equal(body.size, 12)
    t.not(body.content, '')
    t.same((await ask(target, 'GET', `${component('filesystem', `${dir}/x.bin`)}?download=true`)).bytes, bytes)
  })

  await t.test('permissions before the file count', async t => {
    const given = form([
      { name: 'unknown', value: 'ignored' },
      { name: 'permissions', value: '0600' },
      { name: 'file', value: Buffer.from('secret'), filename: 's' },
      { name: 'file', value: Buffer.from('second'), filename: 't' },
    ])
    t.equal((await ask(target, 'PUT', at('secret'), given)).status, 200)
    t.match((await ask(target, 'GET', at('secret'))).body, { permissions: '600', content: 'secret' })
  })

  await t.test('a form without a file is refused', async t => {
    t.equal((await ask(target, 'PUT', at('none'), form([{ name: 'path', value: 'x' }]))).status, 400)
    const broken = { headers: { 'content-type': 'multipart/form-data' }, body: 'no boundary' }
    t.equal((await ask(target, 'PUT', at('none'), broken)).status, 400)
    t.equal((await ask(target, 'GET', at('none'))).status, 404)
  })

  await t.test('five megabytes by form and by JSON are the same', async t => {
    const text = 'a line of text that is not short\n'.repeat(160_000)
    const bytes = Buffer.from(text)
    t.equal((await ask(target, 'PUT', at('form.txt'), clientUpload('x', bytes))).status, 200)
    t.equal((await ask(target, 'PUT', at('json.txt'), { body: { content: text } })).status, 200)
    const octets = { headers: { accept: 'application/octet-stream' } }
    for (const name of ['form.txt', 'json.txt'])
      t.equal(sha256((await ask(target, 'GET', at(name), octets)).bytes), sha256(bytes), name)
    t.equal((await ask(target, 'GET', at('form.txt'))).body.content === text, true)
  })
}

const trees = async (t: Test, target: Target): Promise<void> => {
  const dir = `${target.scratch}/${fresh('tree')}`

  await t.test('a tree is written whole and listed one level deep', async t => {
    const files = { 'a.txt': 'a', 'src/b.txt': 'b', 'src/deep/c.txt': 'c' }
    const made = await ask(target, 'PUT', `/filesystem/tree/${dir}`, { body: { files } })
    t.match(made, { status: 200, body: { path: dir, subdirectories: [{ path: `${dir}/src`, name: 'src' }] } })
    t.equal(made.body.files.length, 1)
    for (const form of [`/filesystem/tree${encodeURIComponent(dir)}`, `/filesystem/tree${dir}`])
      t.match(await ask(target, 'GET', form), { status: 200, body: { path: dir, files: [{ name: 'a.txt' }] } }, form)
    t.match((await ask(target, 'GET', component('filesystem', `${dir}/src/deep/c.txt`))).body, { content: 'c' })
    t.match(await ask(target, 'PUT', `/filesystem/tree/${dir}`, { body: {} }), { status: 200 })
  })

  await t.test('what is no directory', async t => {
    t.equal((await ask(target, 'GET', `/filesystem/tree/${dir}/a.txt`)).status, 400)
    t.equal((await ask(target, 'GET', `/filesystem/tree/${dir}/none`)).status, 400)
    t.equal((await ask(target, 'DELETE', `/filesystem/tree/${dir}/none?recursive=true`)).status, 422)
    t.equal((await ask(target, 'PUT', `/filesystem/tree/${dir}`, { body: '[' })).status, 400)
  })

  await t.test('a tree is deleted only when that is said', async t => {
    t.equal((await ask(target, 'DELETE', `/filesystem/tree/${dir}`)).status, 422)
    t.match(await ask(target, 'DELETE', `/filesystem/tree/${dir}?recursive=true`), {
      status: 200,
      body: { message: /success/ },
    })
    t.equal((await ask(target, 'GET', component('filesystem', dir))).status, 404)
  })
}

export const filesystem = async (t: Test, target: Target): Promise<void> => {
  await paths(t, target)
  await files(t, target)
  await uploads(t, target)
  await trees(t, target)
}
