# Stands in for Homebrew: installs a formula from a folder with its archives. Usage: brew.rb FORMULA ARCHIVES PREFIX GOARCH
require "digest"
require "fileutils"
require "tmpdir"

file, ARCHIVES, PREFIX, ARCH = ARGV

class Place
  def initialize(dir) = (@dir = dir)
  def to_s = @dir

  def install(what)
    FileUtils.mkdir_p(@dir)
    from, to = what.is_a?(Hash) ? what.first : [what, File.basename(what)]
    FileUtils.cp(from, File.join(@dir, to), preserve: true)
  end
end

class Formula
  class << self
    attr_reader :check, :sum, :link

    def version(text = nil) = text ? (@version = text) : @version
    def url(text) = (@link = text)
    def sha256(text) = (@sum = text)
    def test(&block) = (@check = block)
    def on_macos = nil
    def on_linux = yield
    def on_arm = (yield if ARCH == "arm64")
    def on_intel = (yield if ARCH == "amd64")
    %i[desc homepage license depends_on].each { |name| define_method(name) { |*| nil } }
  end

  def version = self.class.version
  def bin = Place.new("#{PREFIX}/bin")
  def bash_completion = Place.new("#{PREFIX}/etc/bash_completion.d")
  def zsh_completion = Place.new("#{PREFIX}/share/zsh/site-functions")
  def fish_completion = Place.new("#{PREFIX}/share/fish/vendor_completions.d")
  def man1 = Place.new("#{PREFIX}/share/man/man1")
  def shell_output(command) = `#{command}`
  def assert_match(part, text) = text.include?(part) || abort("#{text} has no #{part}")
end

load file
archive = File.join(ARCHIVES, File.basename(Ralph.link))
Digest::SHA256.file(archive).hexdigest == Ralph.sum || abort("the sum of #{archive} is another")
Dir.mktmpdir do |dir|
  system("tar", "-xzf", archive, "-C", dir, exception: true)
  formula = Ralph.new
  Dir.chdir(dir) { formula.install }
  formula.instance_eval(&Ralph.check)
end
