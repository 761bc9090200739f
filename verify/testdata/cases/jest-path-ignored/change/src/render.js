const { escape } = require('./escape');

const inline = (text) =>
  text.replace(/\*\*(.+?)\*\*/g, '<b>$1</b>').replace(/\[(.+?)\]\((.+?)\)/g, '<a href="$2">$1</a>');

/** Renders lines of text: # headings, - lists and paragraphs. */
exports.render = (source) =>
  source
    .split('\n')
    .filter((line) => line.trim())
    .map((line) => {
      if (line.startsWith('# ')) return `<h1>${inline(line.slice(2))}</h1>`;
      if (line.startsWith('- ')) return `<li>${inline(line.slice(2))}</li>`;
      return `<p>${inline(line)}</p>`;
    })
    .join('\n');
