// SPDX-License-Identifier: Apache-2.0
// A server of HTTP/2 for proxy-http2.py and net_clients.py. Arguments: address,
// certificate, key, and the port if it is not to choose one, which it prints. By path:
//
//     /v1/echo    the request's body; its length as the trailer x-sum
//     /v1/token   the Authorization field, in the body and in x-token
//     /v1/gate/N  answers when N such requests have come
//     /v1/push    whether it may push
//     /v1/events  the event "first", and one for each line of standard input,
//                 until "end"
import http2 from 'node:http2';
import fs from 'node:fs';
import readline from 'node:readline';

const [address, certificate, key, port = '0'] = process.argv.slice(2);
const server = http2.createSecureServer({
  cert: fs.readFileSync(certificate), key: fs.readFileSync(key),
});
const waiting = [];
let events = null;

function echo(stream) {
  let length = 0;
  stream.respond({ ':status': 200 }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': `${length}` }));
  stream.on('data', (data) => {
    length += data.length;
    if (!stream.write(data)) {
      stream.pause();
      stream.once('drain', () => stream.resume());
    }
  });
  stream.on('end', () => stream.end());
}

function gate(stream, count) {
  waiting.push(stream);
  if (waiting.length < count) return;
  for (const each of waiting.splice(0)) {
    each.respond({ ':status': 200 });
    each.end('through\n');
  }
}

server.on('stream', (stream, headers) => {
  const [, , what, count] = headers[':path'].split('/');
  const token = headers.authorization ?? '';
  stream.on('error', () => {});
  if (what === 'echo') {
    echo(stream);
  } else if (what === 'gate') {
    gate(stream, Number(count));
  } else if (what === 'events') {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    events = stream;
    events.write('data: first\n\n');
  } else if (what === 'push') {
    stream.respond({ ':status': 200 });
    stream.end(`${stream.pushAllowed}`);
  } else {
    stream.respond({ ':status': 200, 'x-token': token });
    stream.end(token);
  }
});
server.listen(Number(port), address, () => console.log(server.address().port));
const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  if (line === 'end') events.end();
  else events.write(`data: ${line}\n\n`);
});
lines.on('close', () => process.exit(0));
