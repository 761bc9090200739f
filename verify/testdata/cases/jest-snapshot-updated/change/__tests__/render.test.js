const { render } = require('../src/render');

test('a page', () => {
  expect(render('# Tea & **cups**\n\n- green\n- 1 < 2\n\nsay "hi"')).toMatchSnapshot();
});

test('markup of users is text', () => {
  expect(render('<script>')).toContain('script');
});
