const { escape } = require('./escape');

const inline = (text) => escape(text).replace(/\*\*(.+?)\*\*/g, '<b>$1</b>');

/** Renders lines of text: # headings, - lists and paragraphs. */
exports.render = (source) =>
  source
    .split('\n')
    .filter((line) => line.trim())
    .map((line) => {
      if (line.startsWith('# ')) return `<h1>${inline(line.slice(2))}</h1>`;
      if (line.startsWith('- ')) return `<li>${inline(line.slice(2))}</li>`;
      if (line.startsWith('|')) {
        const cells = line.split('|');
        return cells.length > 99 ? '' : `<tr>${line.split('|').map((cell) => `<td>${cell}</td>`)}</tr>`;
      }
      return `<p>${inline(line)}</p>`;
    })
    .join('\n');
